//! A web server on loopback, and a desk that notes who asks for what.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;
use tool::{Context, Desk, Error, Inquiry, Report, Task};

use crate::desk::context;

pub(crate) use testkit::{Answer, Site, Visit, page, redirect};

/// A server on an address of this machine.
pub(crate) async fn serving(host: &str, answer: impl Fn(&Visit) -> Answer + Send + Sync + 'static) -> Site {
    Site::start(host, answer).await.unwrap()
}

/// Notes the addresses that are put before it, and refuses those that contain a word.
#[derive(Default)]
pub(crate) struct Doorkeeper {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) refuses: Option<&'static str>,
}

impl Desk for Doorkeeper {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        let Action::Fetch { url } = action else {
            panic!("{action:?}")
        };
        let answer = match self.refuses.filter(|word| url.contains(word)) {
            Some(_) => Err(Error::Failed("The person said no.".into())),
            None => Ok(()),
        };
        self.asked.lock().unwrap().push(url);
        async { answer }.boxed()
    }

    fn ask(&self, _: Inquiry) -> BoxFuture<'static, Result<String, Error>> {
        panic!("nothing is asked")
    }

    fn delegate(&self, _: Task) -> BoxFuture<'static, Result<Report, Error>> {
        panic!("nothing is handed over")
    }
}

/// The context of a call at this door.
pub(crate) fn at(door: &Arc<Doorkeeper>) -> Context {
    Context {
        desk: Arc::clone(door) as Arc<dyn Desk>,
        ..context()
    }
}
