//! Domain Connect templates that an organisation keeps: saved from a text or a URL, listed, removed, and put in the
//! place of their name in the description of a service.

use crate::{Services, Work, unavailable};
use connect::Template;
use model::configure::service::MAX_VALUE;
use model::configure::template::MAX_TEMPLATES;
use model::configure::{ServiceKind, ServiceSpec, StoredTemplate};
use model::ids::Caller;
use service::{ApiError, ApiResult, TemplateDraft};
use url::Url;

impl Services {
    pub(crate) async fn kept_templates(&self, caller: &Caller) -> ApiResult<Vec<StoredTemplate>> {
        self.store().templates(caller.org).await.map_err(unavailable)
    }

    pub(crate) async fn keep_template(
        &self,
        caller: &Caller,
        draft: &TemplateDraft,
    ) -> ApiResult<StoredTemplate> {
        let (text, url) = (draft.json.trim(), draft.url.trim());
        let text = match (text.is_empty(), url.is_empty()) {
            (false, true) => text.to_string(),
            (true, false) => {
                let _permit = self.enter(caller, Work::Trace).await?;
                self.template_at(url).await?
            }
            _ => {
                return Err(ApiError::invalid(
                    "Give the JSON text of the template or its URL, one of the two.",
                ));
            }
        };
        let template = StoredTemplate { url: url.to_string(), ..self.read_template(caller, &text)? };
        let log = self.identity.entry(
            caller,
            "template.save",
            &template.key(),
            Some(template.service_name.clone()),
        );
        self.store().save_template(caller.org, &template, &log).await.map_err(|e| match e {
            store::Error::Conflict => {
                ApiError::invalid(format!("An organisation has at most {MAX_TEMPLATES} templates."))
            }
            e => unavailable(e),
        })?;
        Ok(template)
    }

    pub(crate) async fn drop_template(&self, caller: &Caller, key: &str) -> ApiResult<()> {
        let log = self.identity.entry(caller, "template.remove", key, None);
        match self.store().delete_template(caller.org, key, &log).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::not_found(format!("The organisation has no template {key}."))),
        }
    }

    /// Reads a template and checks it against the published schema.
    fn read_template(&self, caller: &Caller, text: &str) -> ApiResult<StoredTemplate> {
        if text.chars().count() > MAX_VALUE {
            return Err(ApiError::invalid(format!("A template has at most {MAX_VALUE} characters.")));
        }
        let value = serde_json::from_str(text)
            .map_err(|e| ApiError::invalid(format!("The template is not JSON: {e}.")))?;
        let read = Template::from_json(&value).map_err(|e| ApiError::invalid(super::needed::sentence(&e)))?;
        Ok(StoredTemplate {
            variables: read.variables(&[]).into_iter().collect(),
            groups: read.groups().into_iter().map(Into::into).collect(),
            provider_id: read.provider_id,
            service_id: read.service_id,
            provider_name: read.provider_name,
            service_name: read.service_name,
            version: read.version,
            url: String::new(),
            saved_by: caller.who.clone(),
            saved_at: self.now(),
            json: text.to_string(),
        })
    }

    /// The text at a URL, through the guard of outgoing connections.
    async fn template_at(&self, text: &str) -> ApiResult<String> {
        let url = Url::parse(text).ok().filter(|u| matches!(u.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| ApiError::invalid(format!("“{text}” is not an http or https URL.")))?;
        let failed =
            |why: String| ApiError::invalid(format!("The template at {url} could not be read: {why}"));
        let Some(dialer) = &self.tools.inspector.dialer else {
            return Err(failed("this server makes no such connections.".into()));
        };
        // The largest text in UTF-8.
        let answer = dialer.http_get(&url, "application/json, text/plain", 4 * MAX_VALUE).await;
        let answer = answer.map_err(|e| failed(format!("{e}.")))?;
        if answer.status != 200 {
            return Err(failed(format!("the server answered {}.", answer.status)));
        }
        let text = String::from_utf8(answer.body.to_vec());
        text.map(|t| t.trim().to_string()).map_err(|_| failed("it is not text (UTF-8).".into()))
    }

    /// The description of a service with the text of a template in the place of its name. What is kept or checked
    /// later is the text: removing the template changes no service.
    pub(crate) async fn with_template(&self, caller: &Caller, spec: &ServiceSpec) -> ApiResult<ServiceSpec> {
        let key = spec.value("template").trim();
        if spec.service != ServiceKind::Template || key.is_empty() || key.starts_with('{') {
            return Ok(spec.clone());
        }
        let kept = self.kept_templates(caller).await?.into_iter().find(|t| t.key() == key);
        let kept = kept.ok_or_else(|| {
            let shown: String = key.chars().take(80).collect();
            ApiError::invalid(format!(
                "“{shown}” is neither the JSON text of a template nor the name of one that the organisation keeps."
            ))
        })?;
        let mut spec = spec.clone();
        spec.values.insert("template".into(), kept.json);
        Ok(spec)
    }
}
