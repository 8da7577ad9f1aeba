//! `org.pandemonium.Scheduler1`: state, mode, choices and what the kernel says.

mod arguments;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use pandemonium_api::{API_LEVEL, BusError, HoldRow, LastExit, Refusal, escape};
use pandemonium_policy::Mode;
use rustix::system::uname;
use tokio::sync::watch;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, Variant, interface};

use super::Requests;
use super::authority::{Authority, Details, Origin};
use super::bounded::{Texts, TextsByKey};
use super::options::Options;
use super::outlet::Outlet;
use super::transfer::Transfers;
use crate::clock::realtime_usec;
use crate::daemon::{Command, Held};
use crate::diagnostics;
use crate::status::Status;
use arguments::{
    parse_application, parse_choices, parse_domain, parse_mode, parse_name, parse_options,
    parse_power_map,
};

/// Bytes of why a program holds a mode.
const MAX_REASON: usize = 256;

/// The interface object: it holds where to ask and what was published, never state.
pub struct Scheduler {
    /// What was published.
    pub status: watch::Receiver<Status>,
    /// Where requests go.
    pub requests: Requests,
    /// Text through descriptors.
    pub transfers: Transfers,
    /// Who may.
    pub authority: Authority,
}

impl Scheduler {
    async fn request(
        &self,
        from: Origin<'_>,
        member: &'static str,
        details: Details<'_>,
        command: Command,
    ) -> Result<(), Refusal> {
        let permit = self.authority.permit(from, member, details).await?;
        self.requests.send(permit, command).await
    }

    async fn request_lasting(
        &self,
        from: Origin<'_>,
        member: &'static str,
        details: Details<'_>,
        command: Command,
    ) -> Result<(), Refusal> {
        let permit = self.authority.permit_lasting(from, member, details);
        self.requests.send(permit.await?, command).await
    }
}

#[interface(name = "org.pandemonium.Scheduler1", introspection_docs = false)]
impl Scheduler {
    async fn set_mode(
        &self,
        mode: &str,
        options: Options,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let mode = parse_mode(mode)?;
        let options = parse_options(&options)?;
        let (from, details) = ((&header, connection), [("mode", mode.name())]);
        let command = Command::SetMode(mode, options);
        if options.persist {
            self.request_lasting(from, "SetMode", &details, command)
                .await
        } else {
            self.request(from, "SetMode", &details, command).await
        }
    }

    async fn confirm(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let (mode, is_lasting) = {
            let status = self.status.borrow();
            (status.requested, status.trial == Some(true))
        };
        let (from, details) = ((&header, connection), [("mode", mode.name())]);
        // What was authorised is what was seen here; the loop refuses if it is another trial by then.
        let command = Command::Confirm(mode, is_lasting);
        if is_lasting {
            self.request_lasting(from, "Confirm", &details, command)
                .await
        } else {
            self.request(from, "Confirm", &details, command).await
        }
    }

    async fn revert(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let mode = self.status.borrow().revert_mode.name();
        let (from, details) = ((&header, connection), [("mode", mode)]);
        self.request(from, "Revert", &details, Command::Revert)
            .await
    }

    async fn start(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let mode = self.status.borrow().start_mode.name();
        let (from, details) = ((&header, connection), [("mode", mode)]);
        self.request(from, "Start", &details, Command::Start).await
    }

    async fn stop(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let (from, details) = ((&header, connection), [("mode", Mode::Off.name())]);
        self.request(from, "Stop", &details, Command::Stop).await
    }

    async fn restart(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let mode = self.status.borrow().start_mode.name();
        let (from, details) = ((&header, connection), [("mode", mode)]);
        self.request(from, "Restart", &details, Command::Restart)
            .await
    }

    async fn reload(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        self.request((&header, connection), "Reload", &[], Command::Reload)
            .await
    }

    #[zbus(out_args("hold"))]
    async fn hold(
        &self,
        mode: &str,
        reason: &str,
        application: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<zbus::OwnedFd, Refusal> {
        let mode = parse_mode(mode)?;
        let application = parse_application(application)?;
        let details = [("mode", mode.name()), ("application", &application)];
        let from = (&header, connection);
        let permit = self.authority.permit(from, "Hold", &details).await?;
        // The program gets the end that it cannot write to, so it cannot make us read either.
        let (theirs, end) = std::io::pipe()
            .map_err(|error| BusError::LimitsExceeded.because(format!("No pipe: {error}.")))?;
        let held = Held {
            mode,
            reason: escape(reason.as_bytes(), MAX_REASON),
            application,
            end,
        };
        self.requests.send(permit, Command::Hold(held)).await?;
        Ok(OwnedFd::from(theirs).into())
    }

    async fn write_diagnostics(
        &self,
        fd: zbus::OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let invalid = |sentence: String| BusError::InvalidArgs.because(sentence);
        let outlet = Outlet::new(fd.into()).map_err(invalid)?;
        let from = (&header, connection);
        let permit = self.authority.permit(from, "WriteDiagnostics", &[]).await?;
        let report = diagnostics::report(&self.status.borrow(), &release(), realtime_usec());
        self.transfers.write(&permit, outlet, report).await
    }

    async fn add_compositor(
        &self,
        pattern: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let name = parse_name(pattern)?;
        let text = name.to_string();
        let (from, details) = ((&header, connection), [("compositor", text.as_str())]);
        let command = Command::AddCompositor(name);
        self.request(from, "AddCompositor", &details, command).await
    }

    async fn remove_compositor(
        &self,
        pattern: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let name = parse_name(pattern)?;
        let text = name.to_string();
        let (from, details) = ((&header, connection), [("compositor", text.as_str())]);
        let command = Command::RemoveCompositor(name);
        self.request(from, "RemoveCompositor", &details, command)
            .await
    }

    async fn set_primary_domain(
        &self,
        domain: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let domain = parse_domain(domain)?;
        let text = domain.to_string();
        let (from, details) = ((&header, connection), [("domain", text.as_str())]);
        let command = Command::SetPrimaryDomain(domain);
        self.request(from, "SetPrimaryDomain", &details, command)
            .await
    }

    async fn set_power_map(
        &self,
        map: TextsByKey,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let map = parse_power_map(&map)?;
        let text = map.to_string();
        let (from, details) = ((&header, connection), [("power_map", text.as_str())]);
        let command = Command::SetPowerMap(map);
        self.request(from, "SetPowerMap", &details, command).await
    }

    async fn set_idle_selector(
        &self,
        on: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let word = if on { "on" } else { "off" };
        let (from, details) = ((&header, connection), [("idle_selector", word)]);
        let command = Command::SetIdleSelector(on);
        self.request(from, "SetIdleSelector", &details, command)
            .await
    }

    async fn reset_choices(
        &self,
        choices: Texts,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let which = parse_choices(&choices)?;
        let names: Vec<_> = which.iter().map(|choice| choice.name()).collect();
        let names = names.join(", ");
        let (from, details) = ((&header, connection), [("choices", names.as_str())]);
        let command = Command::ResetChoices(which);
        self.request(from, "ResetChoices", &details, command).await
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

    #[zbus(signal)]
    pub async fn reverted(
        emitter: &SignalEmitter<'_>,
        from: &str,
        to: &str,
        reason: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    pub async fn holds_cancelled(
        emitter: &SignalEmitter<'_>,
        by: &str,
        holds: &[HoldRow],
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
    fn boot_mode(&self) -> String {
        self.status.borrow().boot_mode.name().to_owned()
    }

    #[zbus(property)]
    fn mode_reason(&self) -> String {
        self.status.borrow().mode_reason().to_owned()
    }

    #[zbus(property, name = "ConfirmUSec")]
    fn confirm_usec(&self) -> u64 {
        self.status.borrow().confirm_usec
    }

    #[zbus(property)]
    fn holds(&self) -> Vec<HoldRow> {
        self.status.borrow().holds.clone()
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
        self.status.borrow().regime().to_owned()
    }

    #[zbus(property)]
    fn burst(&self) -> bool {
        self.status.borrow().burst()
    }

    #[zbus(property)]
    fn longrun(&self) -> bool {
        self.status.borrow().longrun()
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
    fn power_map(&self) -> BTreeMap<String, String> {
        self.status.borrow().power_map_texts()
    }

    #[zbus(property)]
    fn power_source(&self) -> String {
        self.status.borrow().power_source().to_owned()
    }

    #[zbus(property)]
    fn power_profile(&self) -> String {
        self.status.borrow().power_profile().to_owned()
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
        ("BootMode", status.boot_mode.name().into()),
        ("ModeReason", status.mode_reason().to_owned().into()),
        ("ConfirmUSec", status.confirm_usec.into()),
        ("Holds", status.holds.clone().into()),
        ("KernelState", status.kernel.state.clone().into()),
        ("KernelOps", status.kernel.ops.clone().into()),
        ("LastExit", status.last_exit.clone().into()),
        ("RestartCount", status.restarts.into()),
        ("NextRetryUSec", status.next_retry_usec.into()),
        ("Regime", status.regime().into()),
        ("Burst", status.burst().into()),
        ("Longrun", status.longrun().into()),
        ("Warnings", status.warnings.clone().into()),
        ("Compositors", status.compositor_texts().into()),
        ("PrimaryDomain", status.choices.domain.to_string().into()),
        ("PrimaryDomainCpus", status.domain_text().into()),
        ("PowerMap", status.power_map_texts().into()),
        ("PowerSource", status.power_source().into()),
        ("PowerProfile", status.power_profile().into()),
        ("IdleSelector", status.choices.idle_selector.into()),
    ]
}

/// The kernel that runs.
fn release() -> String {
    uname().release().to_string_lossy().into_owned()
}
