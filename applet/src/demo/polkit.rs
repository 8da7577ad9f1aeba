//! A polkit that allows everything.

use std::collections::HashMap;

use zbus::{OwnedVariant, connection, interface};

struct Polkit;

type Verdict = (bool, bool, HashMap<String, String>);

#[interface(name = "org.freedesktop.PolicyKit1.Authority")]
impl Polkit {
    async fn check_authorization(
        &self,
        _subject: (String, HashMap<String, OwnedVariant>),
        _action: String,
        _details: HashMap<String, String>,
        _flags: u32,
        _cancellation_id: String,
    ) -> (Verdict,) {
        ((true, false, HashMap::new()),)
    }
}

/// Answers on the bus at this address as long as the program runs.
pub fn serve(address: &str) -> Result<(), String> {
    let address = address.to_owned();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let body = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let served = connection::Builder::address(address.as_str())
                .serve_at("/org/freedesktop/PolicyKit1/Authority", Polkit)
                .name("org.freedesktop.PolicyKit1")
                .build()
                .await;
            if let Ok(connection) = served {
                let _ = ready.send(());
                connection.closed().await;
            }
        });
    };
    std::thread::Builder::new()
        .name("polkit".to_owned())
        .spawn(body)
        .map_err(|error| format!("the demo cannot start: {error}"))?;
    is_ready
        .recv()
        .map_err(|_| "the demo cannot serve on its own bus".to_owned())
}
