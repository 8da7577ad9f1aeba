//! The kernel half as the loop uses it: attaching happens on another thread, so that readers of the bus
//! are answered meanwhile, and its event descriptor is waited for.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use pandemonium_policy::{Knobs, Limits, Prediction, Settings, Topology};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::kernel::{AttachError, Exit, Kernel, KernelStatus};

/// How long the kernel may take to say "enabled" after a successful attach.
const AGREE_POLLS: u32 = 200;
const AGREE_POLL: Duration = Duration::from_millis(10);

/// Owns the kernel half.
pub struct Engine {
    /// Away only while attaching, and for good if attaching panicked.
    kernel: Option<Box<dyn Kernel>>,
    event: Option<AsyncFd<OwnedFd>>,
}

impl Engine {
    /// Takes the kernel half over.
    pub fn new(kernel: Box<dyn Kernel>) -> Engine {
        Engine {
            kernel: Some(kernel),
            event: None,
        }
    }

    /// Attaches, and returns when the kernel says that it is enabled.
    pub async fn attach(
        &mut self,
        limits: Limits,
        knobs: Knobs,
        settings: Settings,
        predictions: Vec<Prediction>,
    ) -> Result<(), AttachError> {
        self.event = None;
        let Some(mut kernel) = self.kernel.take() else {
            return Err(AttachError::Load("loading it failed badly before".into()));
        };
        let attaching = tokio::task::spawn_blocking(move || {
            let result = kernel.attach(&limits, &knobs, &settings, &predictions);
            (kernel, result)
        });
        let (kernel, result) = attaching
            .await
            .map_err(|error| AttachError::Load(format!("loading it failed badly: {error}")))?;
        self.kernel = Some(kernel);
        result?;
        if let Err(error) = self.agree().await {
            self.detach();
            return Err(error);
        }
        self.event = self.kernel().and_then(|kernel| watch(&*kernel));
        Ok(())
    }

    async fn agree(&mut self) -> Result<(), AttachError> {
        for _ in 0..AGREE_POLLS {
            if let Some(exit) = self.exit() {
                return Err(AttachError::Load(format!("{}: {}", exit.kind, exit.reason)));
            }
            if self.is_attached() && self.status().is_enabled() {
                return Ok(());
            }
            tokio::time::sleep(AGREE_POLL).await;
        }
        Err(AttachError::Load(format!(
            "it stays {:?}",
            self.status().state
        )))
    }

    /// Detaches. What the kernel says about this end is no news.
    pub fn detach(&mut self) {
        self.event = None;
        if let Some(kernel) = self.kernel() {
            kernel.detach();
            kernel.exit();
        }
    }

    /// The kernel half, unless it was lost.
    pub fn kernel(&mut self) -> Option<&mut (dyn Kernel + 'static)> {
        self.kernel.as_deref_mut()
    }

    /// The machine, as of the last attach; nothing once the kernel half was lost.
    pub fn topology(&self) -> Option<&Topology> {
        self.kernel.as_deref().map(|kernel| kernel.topology())
    }

    /// Whether our scheduler is the loaded one.
    pub fn is_attached(&self) -> bool {
        self.kernel
            .as_deref()
            .is_some_and(|kernel| kernel.is_attached())
    }

    /// What the kernel says now.
    pub fn status(&mut self) -> KernelStatus {
        self.kernel()
            .map(|kernel| kernel.status())
            .unwrap_or_default()
    }

    /// Why the kernel ended our scheduler, once.
    pub fn exit(&mut self) -> Option<Exit> {
        self.kernel().and_then(|kernel| kernel.exit())
    }

    /// Waits until [`Engine::exit`] may have something to say; for ever where nothing announces it.
    pub async fn event(&self) {
        let Some(event) = &self.event else {
            return std::future::pending().await;
        };
        match event.readable().await {
            Ok(mut guard) => guard.clear_ready(),
            Err(_) => std::future::pending().await,
        }
    }
}

/// Watches a duplicate, so that the kernel half may close its own descriptor at any time.
fn watch(kernel: &dyn Kernel) -> Option<AsyncFd<OwnedFd>> {
    let fd = kernel.event_fd()?;
    // SAFETY: the kernel half keeps the descriptor open while it is attached, and it was just asked.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let watched = borrowed.try_clone_to_owned().and_then(|fd| {
        // SAFETY: an OwnedFd is the descriptor it says, and stays open until it is dropped.
        unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(Into::into)
    });
    match watched {
        Ok(event) => Some(event),
        Err(error) => {
            log::warn!("exits are only noticed once a second: {error}");
            None
        }
    }
}
