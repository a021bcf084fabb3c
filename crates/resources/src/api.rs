//! One request: what it names, what it does, and in which form it is answered.

use crate::access;
use crate::body::{self, Form};
use crate::create;
use crate::delete::{self, DeleteOptions};
use crate::discovery;
use crate::failure::Failure;
use crate::kind::{Column, Kind, Verb};
use crate::list::{self, List};
use crate::namespaces;
use crate::openapi;
use crate::request::{Collection, Options, Reply, Request, Target, target};
use crate::selector::Selector;
use crate::store::Objects;
use crate::streamed;
use crate::table::Include;
use crate::tail::{TailLimits, Tails};
use crate::watch;
use crate::write::{self, Written};
use jiff::Timestamp;
use model::ids::Caller;
use serde_json::Value;
use service::SharedBackend;
use service::policy::authorize;
use std::sync::Arc;
use tokio::sync::Notify;

/// The API over a backend. Its clones share the tails of the change log that watches read.
#[derive(Clone)]
pub struct Api {
    backend: SharedBackend,
    tails: Tails,
    /// Wakes the garbage collector.
    links: Arc<Notify>,
}

/// The result of a request.
struct Answer {
    status: u16,
    value: Value,
    /// The columns of its objects, where they have a table.
    columns: Option<&'static [Column]>,
    warnings: Vec<String>,
}

impl Api {
    /// The API over a backend.
    pub fn new(backend: SharedBackend) -> Self {
        Api { backend, tails: Tails::default(), links: Arc::default() }
    }

    /// The same with other bounds for what watches share.
    #[must_use]
    pub fn with_tails(self, limits: TailLimits) -> Self {
        Api { tails: Tails::new(limits), ..self }
    }

    pub(crate) fn backend(&self) -> SharedBackend {
        self.backend.clone()
    }

    /// Returns when a request of this process wrote what [`collect`](Api::collect) may have to act on.
    pub async fn links_changed(&self) {
        self.links.notified().await;
    }

    /// Refuses what address and method alone say that the caller may not do, so that the body of such a request need not be
    /// read. [`answer`](Api::answer) refuses it too.
    ///
    /// # Errors
    /// The reply to send.
    pub fn precheck(caller: &Caller, method: &str, path: &str) -> Result<(), Reply> {
        permitted(caller, method, path).map(drop).map_err(|failure| failed(&failure))
    }

    /// Answers a request of a caller.
    pub async fn answer(&self, caller: &Caller, request: Request) -> Reply {
        let options = Options::read(&request.query);
        let is_watch = request.method == "GET" && options.is_set("watch");
        let target = match permitted(caller, &request.method, &request.path) {
            Ok(target) => target,
            Err(failure) => return failed(&failure),
        };
        if let Target::Document(path) = &target {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            return document(&path, &request);
        }
        // Before anything is written: what it came to could not be said.
        let Some(form) = body::form(&request.accept) else { return failed(&Failure::not_acceptable()) };
        let in_parts = match &target {
            Target::Collection(c, ns) if is_watch => Some(self.watch(caller, *c, ns, &options, form).await),
            Target::Namespaces(None) if is_watch => {
                Some(namespaces::watch(caller, &options, form).map(Reply::Watch))
            }
            Target::Collection(c, ns) if request.method == "GET" => {
                Some(self.list(caller, *c, ns, &options, form).await)
            }
            _ => None,
        };
        if let Some(reply) = in_parts {
            return reply.unwrap_or_else(|failure| failed(&failure));
        }
        match self.act(caller, target, &request, &options).await {
            Ok(answer) => {
                let names_owners = answer.value["metadata"].get("ownerReferences").is_some();
                if request.method == "DELETE" || (request.method != "GET" && names_owners) {
                    self.links.notify_one();
                }
                finished(answer, form, &options)
            }
            Err(failure) => failed(&failure),
        }
    }

    fn objects(&self, caller: &Caller, c: Collection, namespace: &str) -> Objects {
        Objects {
            backend: self.backend.clone(),
            caller: caller.clone(),
            kind: c.kind,
            namespace: namespace.to_string(),
        }
    }

    async fn watch(
        &self,
        caller: &Caller,
        c: Collection,
        namespace: &str,
        options: &Options,
        form: Form,
    ) -> Result<Reply, Failure> {
        let selector = Selector::read(c.kind, options.get("labelSelector"), options.get("fieldSelector"))?;
        let objects = self.objects(caller, c, namespace);
        Ok(Reply::Watch(watch::watch(objects, &self.tails, selector, options, form).await?))
    }

    /// A list: whole where it is short, else in parts.
    async fn list(
        &self,
        caller: &Caller,
        c: Collection,
        namespace: &str,
        options: &Options,
        form: Form,
    ) -> Result<Reply, Failure> {
        let selector = Selector::read(c.kind, options.get("labelSelector"), options.get("fieldSelector"))?;
        let mut list = List::begin(self.objects(caller, c, namespace), selector, options).await?;
        Ok(match list.short().await? {
            Ok(whole) => finished(of(c.kind, whole), form, options),
            Err(first) => {
                let include = Include::read(options.get("includeObject"));
                let parts = streamed::parts(list, first, form, include);
                Reply::List { content_type: form.media_type(), parts }
            }
        })
    }

    async fn act(
        &self,
        caller: &Caller,
        target: Target,
        request: &Request,
        options: &Options,
    ) -> Result<Answer, Failure> {
        let method = request.method.as_str();
        let now = Timestamp::now();
        match target {
            Target::Review(review) => Ok(Answer {
                status: 201,
                value: access::answer(review, caller, request)?,
                columns: None,
                warnings: vec![],
            }),
            Target::Document(_) => Err(Failure::no_such_path()),
            Target::Namespaces(name) => {
                let value = namespaces::read(caller, name.as_deref(), options)?;
                Ok(Answer { status: 200, value, columns: Some(&namespaces::COLUMNS), warnings: vec![] })
            }
            Target::Collection(c, ns) => {
                let objects = self.objects(caller, c, &ns);
                match method {
                    "POST" => written(c.kind, create::create(&objects, request, options, now).await?),
                    "DELETE" => delete_all(&objects, request, options, now).await.map(|v| of(c.kind, v)),
                    _ => Err(Failure::method_not_allowed(method)),
                }
            }
            Target::Object(c, ns, name) => {
                let objects = self.objects(caller, c, &ns);
                match method {
                    "GET" => Ok(of(c.kind, list::one(&objects, &name, options).await?)),
                    "PUT" => written(c.kind, write::update(&objects, &name, request, options, now).await?),
                    "PATCH" => written(c.kind, write::patch(&objects, &name, request, options, now).await?),
                    "DELETE" => {
                        let deletion = DeleteOptions::read(request, options)?;
                        let value = delete::run(&objects, &name, &deletion, now).await?;
                        let columns = (value["kind"] != "Status").then_some(c.kind.columns);
                        Ok(Answer { status: 200, value, columns, warnings: vec![] })
                    }
                    _ => Err(Failure::method_not_allowed(method)),
                }
            }
            Target::Status(c, ns, name) if method == "GET" => {
                Ok(of(c.kind, list::one(&self.objects(caller, c, &ns), &name, options).await?))
            }
            Target::Status(c, ns, name) => {
                written(c.kind, write::status(&self.objects(caller, c, &ns), &name, request, options).await?)
            }
        }
    }
}

/// The target of a path, if the caller may do this with it.
fn permitted(caller: &Caller, method: &str, path: &str) -> Result<Target, Failure> {
    let target = target(path, caller)?;
    let verb = |in_collection: bool| match method {
        "GET" if in_collection => Some(Verb::List),
        "GET" => Some(Verb::Get),
        "POST" if in_collection => Some(Verb::Create),
        "PUT" if !in_collection => Some(Verb::Update),
        "PATCH" if !in_collection => Some(Verb::Patch),
        "DELETE" if in_collection => Some(Verb::DeleteCollection),
        "DELETE" => Some(Verb::Delete),
        _ => None,
    };
    let (kind, name, action) = match &target {
        Target::Review(_) if method != "POST" => return Err(Failure::method_not_allowed(method)),
        Target::Document(_) if !matches!(method, "GET" | "HEAD") => {
            return Err(Failure::method_not_allowed(method));
        }
        Target::Namespaces(_) if method != "GET" => return Err(Failure::method_not_allowed(method)),
        Target::Document(_) | Target::Review(_) | Target::Namespaces(_) => return Ok(target),
        Target::Collection(c, _) => (c.kind, "", verb(true).and_then(c.kind.action)),
        Target::Object(c, _, name) => (c.kind, name.as_str(), verb(false).and_then(c.kind.action)),
        // Without an action of its own it is what was observed or decided: only the server writes it.
        Target::Status(c, _, name) => match method {
            "GET" => (c.kind, name.as_str(), (c.kind.action)(Verb::Get)),
            "PUT" | "PATCH" => (c.kind, name.as_str(), c.kind.status_action),
            _ => (c.kind, name.as_str(), None),
        },
    };
    let action = action.ok_or_else(|| Failure::method_not_allowed(method))?;
    authorize(caller, action).map_err(|e| Failure::from(e).about(kind, name))?;
    Ok(target)
}

fn of(kind: &'static Kind, value: Value) -> Answer {
    Answer { status: 200, value, columns: Some(kind.columns), warnings: vec![] }
}

#[expect(clippy::unnecessary_wraps, reason = "one form for all arms")]
fn written(kind: &'static Kind, w: Written) -> Result<Answer, Failure> {
    let status = if w.created { 201 } else { 200 };
    Ok(Answer { status, value: w.object, columns: Some(kind.columns), warnings: w.warnings })
}

/// Deletes all objects that the options select; those that were there.
async fn delete_all(
    objects: &Objects,
    request: &Request,
    options: &Options,
    now: Timestamp,
) -> Result<Value, Failure> {
    let selector = Selector::read(objects.kind, options.get("labelSelector"), options.get("fieldSelector"))?;
    let deletion = DeleteOptions::read(request, options)?;
    let all = list::whole(objects, selector, options).await?;
    for object in all["items"].as_array().into_iter().flatten() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match delete::run(objects, name, &deletion, now).await {
            Err(e) if e.code == 404 => {}
            other => drop(other?),
        }
    }
    Ok(all)
}

fn finished(answer: Answer, form: Form, options: &Options) -> Reply {
    let include = Include::read(options.get("includeObject"));
    let value = match answer.columns {
        Some(columns) => body::shaped(answer.value, form, columns, include),
        None => answer.value,
    };
    let (body, content_type) = body::write(&value, form);
    Reply::Whole { status: answer.status, content_type, warnings: answer.warnings, retry_after: None, body }
}

fn failed(failure: &Failure) -> Reply {
    let retry_after = failure.details["retryAfterSeconds"].as_u64();
    let (body, content_type) = body::write(&failure.status(), Form::Json);
    Reply::Whole { status: failure.code, content_type, warnings: vec![], retry_after, body }
}

/// Discovery and descriptions, which only read.
fn document(path: &[&str], request: &Request) -> Reply {
    if path == ["openapi", "v2"] && request.accept.contains("proto-openapi") {
        let body = crate::protobuf::document(&openapi::v2());
        let content_type = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        return Reply::Whole { status: 200, content_type, warnings: vec![], retry_after: None, body };
    }
    let aggregated = discovery::document(path, &request.accept);
    let found = aggregated.or_else(|| openapi::document(path));
    let Some(value) = found else { return failed(&Failure::no_such_path()) };
    let (body, mut content_type) = body::write(&value, Form::Json);
    if value["kind"] == "APIGroupDiscoveryList" {
        content_type = if value["apiVersion"] == "apidiscovery.k8s.io/v2" {
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        } else {
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
        };
    }
    Reply::Whole { status: 200, content_type, warnings: vec![], retry_after: None, body }
}
