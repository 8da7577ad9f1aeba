//! Questions to the system bus: is it there, and who is on it?

use pandemonium_api as api;
use zbus::fdo::DBusProxy;

use super::{Finding, Verdict};
use crate::connection;
use crate::error::Error;

const POLKIT: &str = "org.freedesktop.PolicyKit1";

/// What the bus says.
pub(super) fn findings() -> Vec<Finding> {
    match connection::block_on(ask()) {
        Ok(findings) => findings,
        Err(error) => {
            let reason = match error {
                Error::NoBus(reason) => reason,
                other => other.to_string(),
            };
            let found = format!("not reachable: {reason}");
            let todo = "start dbus (`systemctl start dbus`)";
            vec![Finding::new("system bus", Verdict::Problem, found, todo)]
        }
    }
}

/// For a captured root there is no bus to ask.
pub(super) fn not_asked() -> Vec<Finding> {
    let found = "not asked: with --root only files are looked at";
    vec![Finding::new("system bus", Verdict::Unknown, found, "").optional()]
}

async fn ask() -> Result<Vec<Finding>, Error> {
    let bus = connection::system_bus().await?;
    let dbus = DBusProxy::new(&bus).await.map_err(connection::explain)?;
    let names = dbus
        .list_names()
        .await
        .map_err(|error| connection::explain(error.into()))?;
    let activatable = dbus.list_activatable_names().await.unwrap_or_default();
    let has = |name: &str| names.iter().any(|n| n.as_str() == name);
    let can_start = |name: &str| activatable.iter().any(|n| n.as_str() == name);

    let daemon = match (has(api::BUS_NAME), can_start(api::BUS_NAME)) {
        (true, _) => Finding::ok("daemon", "on the bus"),
        (false, true) => Finding::ok("daemon", "installed, not running"),
        (false, false) => Finding::new(
            "daemon",
            Verdict::Note,
            "not on the bus",
            "start it with `systemctl start pandemonium`",
        ),
    };
    let polkit = if has(POLKIT) || can_start(POLKIT) {
        Finding::ok("polkit", "on the bus")
    } else {
        Finding::new(
            "polkit",
            Verdict::Note,
            "not on the bus",
            "without it every change is refused; install polkit",
        )
    };
    Ok(vec![
        Finding::ok("system bus", "reachable"),
        daemon.optional(),
        polkit.optional(),
    ])
}
