//! `org.pandemonium.Scheduler1`: state, mode, choices and what the kernel says.

use std::collections::HashMap;

use pandemonium_api::{API_LEVEL, BusError, LastExit, Refusal, escape};
use pandemonium_policy::{Mode, Pattern, PrimaryDomain};
use tokio::sync::watch;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedVariant, Variant, interface};

use super::Requests;
use super::authority::{Authority, Call};
use crate::daemon::Command;
use crate::status::Status;

/// The interface object: it holds where to ask and what was published, never state.
pub struct Scheduler {
    /// What was published.
    pub status: watch::Receiver<Status>,
    /// Where requests go.
    pub requests: Requests,
    /// Who may.
    pub authority: Authority,
}

impl Scheduler {
    async fn request(&self, call: Call<'_>, command: Command) -> Result<(), Refusal> {
        let permit = self.authority.permit(call).await?;
        self.requests.send(permit, command).await
    }
}

#[interface(name = "org.pandemonium.Scheduler1", introspection_docs = false)]
impl Scheduler {
    async fn set_mode(
        &self,
        mode: &str,
        options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let mode = parse_mode(mode)?;
        refuse_options(&options)?;
        let details = [("mode", mode.name())];
        let call = Call {
            connection,
            header: &header,
            member: "SetMode",
            details: &details,
        };
        self.request(call, Command::SetMode(mode)).await
    }

    async fn add_compositor(
        &self,
        pattern: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let name = parse_name(pattern)?;
        let call = Call {
            connection,
            header: &header,
            member: "AddCompositor",
            details: &[("compositor", &name.to_string())],
        };
        self.request(call, Command::AddCompositor(name)).await
    }

    async fn remove_compositor(
        &self,
        pattern: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let name = parse_name(pattern)?;
        let call = Call {
            connection,
            header: &header,
            member: "RemoveCompositor",
            details: &[("compositor", &name.to_string())],
        };
        self.request(call, Command::RemoveCompositor(name)).await
    }

    async fn set_primary_domain(
        &self,
        domain: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let domain = parse_domain(domain)?;
        let call = Call {
            connection,
            header: &header,
            member: "SetPrimaryDomain",
            details: &[("domain", &domain.to_string())],
        };
        self.request(call, Command::SetPrimaryDomain(domain)).await
    }

    async fn set_idle_selector(
        &self,
        on: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let call = Call {
            connection,
            header: &header,
            member: "SetIdleSelector",
            details: &[("idle_selector", if on { "on" } else { "off" })],
        };
        self.request(call, Command::SetIdleSelector(on)).await
    }

    #[zbus(signal)]
    pub async fn ejected(
        emitter: &SignalEmitter<'_>,
        kind: &str,
        code: i64,
        reason: &str,
        will_retry: bool,
        next_retry_usec: u64,
    ) -> zbus::Result<()>;

    #[zbus(property)]
    fn state(&self) -> String {
        self.status.borrow().state.name().to_owned()
    }

    #[zbus(property)]
    fn state_reason(&self) -> String {
        self.status.borrow().reason.clone()
    }

    #[zbus(property)]
    fn mode(&self) -> String {
        self.status.borrow().mode().name().to_owned()
    }

    #[zbus(property)]
    fn requested_mode(&self) -> String {
        self.status.borrow().requested.name().to_owned()
    }

    #[zbus(property)]
    fn kernel_state(&self) -> String {
        self.status.borrow().kernel.state.clone()
    }

    #[zbus(property)]
    fn kernel_ops(&self) -> String {
        self.status.borrow().kernel.ops.clone()
    }

    #[zbus(property)]
    fn last_exit(&self) -> LastExit {
        self.status.borrow().last_exit.clone()
    }

    #[zbus(property)]
    fn restart_count(&self) -> u32 {
        self.status.borrow().restarts
    }

    #[zbus(property, name = "NextRetryUSec")]
    fn next_retry_usec(&self) -> u64 {
        self.status.borrow().next_retry_usec
    }

    #[zbus(property)]
    fn regime(&self) -> String {
        self.status.borrow().snapshot.regime.clone()
    }

    #[zbus(property)]
    fn burst(&self) -> bool {
        self.status.borrow().snapshot.burst
    }

    #[zbus(property)]
    fn longrun(&self) -> bool {
        self.status.borrow().snapshot.longrun
    }

    #[zbus(property)]
    fn warnings(&self) -> Vec<String> {
        self.status.borrow().warnings.clone()
    }

    #[zbus(property)]
    fn compositors(&self) -> Vec<String> {
        self.status.borrow().compositor_texts()
    }

    #[zbus(property)]
    fn primary_domain(&self) -> String {
        self.status.borrow().choices.domain.to_string()
    }

    #[zbus(property)]
    fn primary_domain_cpus(&self) -> String {
        self.status.borrow().domain_text()
    }

    #[zbus(property)]
    fn idle_selector(&self) -> bool {
        self.status.borrow().choices.idle_selector
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn api_level(&self) -> u32 {
        API_LEVEL
    }
}

/// The properties whose changes are announced, with their values.
pub fn properties(status: &Status) -> Vec<(&'static str, Variant<'static>)> {
    vec![
        ("State", status.state.name().into()),
        ("StateReason", status.reason.clone().into()),
        ("Mode", status.mode().name().into()),
        ("RequestedMode", status.requested.name().into()),
        ("KernelState", status.kernel.state.clone().into()),
        ("KernelOps", status.kernel.ops.clone().into()),
        ("LastExit", status.last_exit.clone().into()),
        ("RestartCount", status.restarts.into()),
        ("NextRetryUSec", status.next_retry_usec.into()),
        ("Regime", status.snapshot.regime.clone().into()),
        ("Burst", status.snapshot.burst.into()),
        ("Longrun", status.snapshot.longrun.into()),
        ("Warnings", status.warnings.clone().into()),
        ("Compositors", status.compositor_texts().into()),
        ("PrimaryDomain", status.choices.domain.to_string().into()),
        ("PrimaryDomainCpus", status.domain_text().into()),
        ("IdleSelector", status.choices.idle_selector.into()),
    ]
}

fn parse_mode(mode: &str) -> Result<Mode, Refusal> {
    mode.parse().map_err(|_| {
        let names = Mode::ALL.map(Mode::name).join(", ");
        let mode = escape(mode.as_bytes(), 64);
        BusError::InvalidMode.because(format!(
            "There is no mode \"{mode}\"; choose one of {names}."
        ))
    })
}

fn parse_name(name: &str) -> Result<Pattern, Refusal> {
    name.parse().map_err(|error| {
        let name = escape(name.as_bytes(), 64);
        BusError::InvalidName.because(format!("\"{name}\" cannot be a compositor: {error}."))
    })
}

fn parse_domain(domain: &str) -> Result<PrimaryDomain, Refusal> {
    domain.parse().map_err(|error| {
        let domain = escape(domain.as_bytes(), 64);
        BusError::InvalidArgs.because(format!("\"{domain}\" is no primary domain: {error}."))
    })
}

/// There are no options yet; refusing unknown ones keeps the way open for some.
fn refuse_options(options: &HashMap<String, OwnedVariant>) -> Result<(), Refusal> {
    match options.keys().next() {
        None => Ok(()),
        Some(key) => {
            let key = escape(key.as_bytes(), 64);
            Err(BusError::InvalidArgs.because(format!("SetMode has no option \"{key}\".")))
        }
    }
}
