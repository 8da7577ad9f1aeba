//! A polkit that answers as it is told and remembers what it was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use zbus::{OwnedVariant, interface};

/// How the pretended polkit answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    #[default]
    Allow,
    Deny,
    Challenge,
    /// Until it is released, and then like `Allow`.
    Hang,
}

/// One question put to polkit.
#[derive(Clone, Debug)]
pub struct Question {
    pub subject_kind: String,
    pub subject_name: Option<String>,
    pub action: String,
    pub details: HashMap<String, String>,
    pub flags: u32,
}

#[derive(Clone, Default)]
pub struct Polkit {
    pub answer: Arc<Mutex<Answer>>,
    pub questions: Arc<Mutex<Vec<Question>>>,
    pub cancelled: Arc<Mutex<Vec<String>>>,
    released: Arc<Notify>,
}

impl Polkit {
    pub fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// What hangs now is allowed.
    pub fn release(&self) {
        self.released.notify_waiters();
    }

    pub fn questions(&self) -> Vec<Question> {
        self.questions.lock().unwrap().clone()
    }
}

type Verdict = (bool, bool, HashMap<String, String>);

#[interface(name = "org.freedesktop.PolicyKit1.Authority")]
impl Polkit {
    async fn check_authorization(
        &self,
        subject: (String, HashMap<String, OwnedVariant>),
        action: String,
        details: HashMap<String, String>,
        flags: u32,
        _cancellation_id: String,
    ) -> (Verdict,) {
        let name = subject
            .1
            .get("name")
            .and_then(|name| String::try_from(name.try_clone().ok()?).ok());
        self.questions.lock().unwrap().push(Question {
            subject_kind: subject.0,
            subject_name: name,
            action,
            details,
            flags,
        });
        let answer = *self.answer.lock().unwrap();
        match answer {
            Answer::Allow => ((true, false, HashMap::new()),),
            Answer::Deny => ((false, false, HashMap::new()),),
            Answer::Challenge => ((false, true, HashMap::new()),),
            Answer::Hang => {
                self.released.notified().await;
                ((true, false, HashMap::new()),)
            }
        }
    }

    async fn cancel_check_authorization(&self, cancellation_id: String) {
        self.cancelled.lock().unwrap().push(cancellation_id);
    }
}
