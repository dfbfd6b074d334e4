//! A web server on loopback, and a host that records approvals.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;
use tool::{CallContext, Error, SubtaskReport, SubtaskRequest, ToolHost, UserQuestion};

use crate::project::context;

pub(crate) use testkit::{SiteRequest, SiteResponse, StubSite, page, redirect};

/// Starts a server on a local address.
pub(crate) async fn serving(
    host: &str,
    answer: impl Fn(&SiteRequest) -> SiteResponse + Send + Sync + 'static,
) -> StubSite {
    StubSite::start(host, answer).await.unwrap()
}

/// Records the URLs to approve, and refuses those that contain a word.
#[derive(Default)]
pub(crate) struct UrlApprover {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) refuses: Option<&'static str>,
}

impl ToolHost for UrlApprover {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        let Action::Fetch { url } = action else {
            panic!("{action:?}")
        };
        let answer = match self.refuses.filter(|word| url.contains(word)) {
            Some(_) => Err(Error::Failed("The user declined.".into())),
            None => Ok(()),
        };
        self.asked.lock().unwrap().push(url);
        async { answer }.boxed()
    }

    fn ask(&self, _: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        panic!("nothing is asked")
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        panic!("unexpected delegation")
    }
}

/// A context with this host.
pub(crate) fn at(approver: &Arc<UrlApprover>) -> CallContext {
    CallContext {
        host: Arc::clone(approver) as Arc<dyn ToolHost>,
        ..context()
    }
}
