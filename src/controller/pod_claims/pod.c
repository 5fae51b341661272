/*
 * A pod's claims. Each entry of spec.resourceClaims is found or created in turn. Then new ones are
 * written to the pod's status, and allocated ones are reserved for a pod that is already on a
 * node. If a claim cannot be created, an event reports that, and it is retried later. The status
 * is written as a strategic merge patch by the entries' names, with the pod's uid: every server
 * supports that, and another pod of that name does not get them.
 */
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "controller/pod_claims/pod_claims_impl.h"

static void look_at_entries(struct pod_claims_job *j);

static struct str pod_uid(const struct pod_claims_job *j)
{
	return json_text_at(json_getz(j->pod, "metadata"), "uid");
}

static struct json *first_entry(const struct pod_claims_job *j)
{
	return json_first(json_getz(json_getz(j->pod, "spec"), "resourceClaims"));
}

/* --- failures -------------------------------------------------------------------------------- */

static void pod_tell(struct pod_claims_job *j, const char *text)
{
	const struct json *meta = json_getz(j->pod, "metadata");
	struct recorder_object about = { .api_version = STR("v1"),
					 .kind = STR("Pod"),
					 .ns = j->ns,
					 .name = j->name,
					 .uid = json_text_at(meta, "uid"),
					 .resource_version = json_text_at(meta,
									  "resourceVersion") };

	recorder_event(j->owner->ctx.recorder, &about, RECORDER_WARNING,
		       "FailedResourceClaimCreation", str_from(text));
}

/* Messages are upstream's. */
static void PRINTF_LIKE(2, 3) refuse(struct pod_claims_job *j, const char *fmt, ...)
{
	struct str entry = json_text_at(j->entry, "name");
	char why[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	log_debug(j->owner->ctx.log, "cannot create a claim", LOG_STR("key", j->work.key),
		  LOG_STR("claim", entry), LOG_Z("why", why));
	pod_tell(j, arena_printf(&j->work.arena, "PodResourceClaim %.*s: %s", STR_ARG(entry), why));
	pod_claims_job_end(j, true);
}

/* --- creating -------------------------------------------------------------------------------- */

static void next_entry(struct pod_claims_job *j)
{
	j->entry = j->entry->next;
	j->attempt = 0;
}

static void note_made(struct pod_claims_job *j, struct str claim)
{
	struct pod_claims_made *m = ARENA_NEW(&j->work.arena, struct pod_claims_made);

	m->pod_claim = json_text_at(j->entry, "name");
	m->claim = arena_str(&j->work.arena, claim);
	*j->made_last = m;
	j->made_last = &m->next;
	next_entry(j);
}

static void get_claim(struct pod_claims_job *j, struct str name,
		      void (*on_answer)(struct pod_claims_job *j, const struct client_answer *a,
					const struct error *err))
{
	j->on_answer = on_answer;
	client_get(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource, j->ns, name);
}

static void pod_make(struct pod_claims_job *j);

/* A claim of the chosen name existed: from our earlier attempt, or somebody else's. */
static void on_there(struct pod_claims_job *j, const struct client_answer *a,
		     const struct error *err)
{
	struct json *claim;
	struct error bad;

	if (err) {
		refuse(j, "checking claim existence: %s", err->msg);
	} else if (client_answer_tree(a, &j->work.arena, &claim, &bad) < 0) {
		refuse(j, "checking claim existence: %s", bad.msg);
	} else if (pod_claims_made_for(claim, pod_uid(j), json_text_at(j->entry, "name"))) {
		note_made(j, json_text_at(json_getz(claim, "metadata"), "name"));
		look_at_entries(j);
	} else if (++j->attempt < POD_CLAIMS_NAME_TRIES) {
		pod_make(j);
	} else {
		refuse(j, "create ResourceClaim : no name is free");
	}
}

static void pod_on_created(struct pod_claims_job *j, const struct client_answer *a UNUSED,
			   const struct error *err)
{
	struct str name = json_text_at(json_getz(j->claim, "metadata"), "name");

	if (err && err->code == ERR_ALREADY_EXISTS) {
		get_claim(j, name, on_there);
		return;
	}
	pod_claims_metrics_created(&j->owner->metrics, j->claim, !err);
	if (err) {
		/* Upstream's message has an empty name here. */
		refuse(j, "create ResourceClaim : %s", err->msg);
		return;
	}
	log_debug(j->owner->ctx.log, "created a claim", LOG_STR("key", j->work.key),
		  LOG_STR("claim", name));
	note_made(j, name);
	look_at_entries(j);
}

/* Sends a request, or reports a failure. */
static void pod_make(struct pod_claims_job *j)
{
	struct pod_claims_ref ref = pod_claims_ref_of(j->pod, j->entry);
	struct cached *o = cache_get_in(informer_cache(j->owner->templates.informer), j->ns,
					ref.template);
	struct json *template;
	struct error err;

	if (!o) {
		refuse(j,
		       "resource claim template \"%.*s\": resourceclaimtemplate.resource.k8s.io "
		       "\"%.*s\" not found",
		       STR_ARG(ref.template), STR_ARG(ref.template));
	} else if (cached_tree_held(o, &j->work.arena, &template, &err) < 0) {
		refuse(j, "resource claim template \"%.*s\": %s", STR_ARG(ref.template), err.msg);
	} else {
		j->claim = pod_claims_make(&j->work.arena, j->pod, ref.pod_claim, template,
					   j->attempt);
		j->on_answer = pod_on_created;
		client_create(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource,
			      j->ns, j->claim);
	}
}

/* Finds a claim created before, whether or not the pod's status names it. */
static bool find_made(struct pod_claims_job *j)
{
	const struct cache *cache = informer_cache(j->owner->claims.informer);
	struct arena *scratch = &j->owner->scratch;
	struct cache_walk walk = { 0 };
	const struct cached *o;
	struct json *claim;
	bool found = false;

	while (!found && (o = cache_next_by(cache, POD_CLAIMS_BY_OWNER, pod_uid(j), &walk))) {
		found = str_eq(cached_ns(o), j->ns) && cached_tree(o, scratch, &claim, NULL) == 0 &&
			pod_claims_made_for(claim, pod_uid(j), json_text_at(j->entry, "name"));
		if (found)
			note_made(j, cached_name(o));
		arena_clear(scratch);
	}
	cache_walk_end(&walk);
	return found;
}

/* --- finding --------------------------------------------------------------------------------- */

static void find_or_make(struct pod_claims_job *j)
{
	if (find_made(j))
		look_at_entries(j);
	else
		pod_make(j);
}

/* The informer does not know the claim that the status names. */
static void on_recorded(struct pod_claims_job *j, const struct client_answer *a,
			const struct error *err)
{
	struct json *claim;

	if (err && err->code != ERR_NOT_FOUND) {
		refuse(j, "checking claim existence: %s", err->msg);
	} else if (!err && client_answer_tree(a, &j->work.arena, &claim, NULL) == 0 &&
		   pod_claims_controlled_by(claim, pod_uid(j))) {
		next_entry(j);
		look_at_entries(j);
	} else {
		find_or_make(j);
	}
}

/* Whether the claim that the status names exists and belongs to the pod. */
static bool is_there(struct pod_claims_job *j, const struct cached *o)
{
	struct json *claim;
	bool is = cached_tree(o, &j->owner->scratch, &claim, NULL) == 0 &&
		  pod_claims_controlled_by(claim, pod_uid(j));

	arena_clear(&j->owner->scratch);
	return is;
}

/* Returns true if the entry is finished; otherwise a request is under way, or the job is over. */
static bool look_at_entry(struct pod_claims_job *j)
{
	struct pod_claims_ref ref = pod_claims_ref_of(j->pod, j->entry);
	const struct cached *o;

	if (ref.state == POD_CLAIMS_REF_UNKNOWN) {
		refuse(j,
		       "checking for claim before creating it: pod \"%.*s/%.*s\", "
		       "spec.resourceClaim \"%.*s\": none of the supported fields are set",
		       STR_ARG(j->ns), STR_ARG(j->name), STR_ARG(ref.pod_claim));
		return false;
	}
	if (ref.state == POD_CLAIMS_REF_UNNEEDED || ref.template.n == 0)
		return true;
	if (ref.state == POD_CLAIMS_REF_NAMED) {
		o = cache_get_in(informer_cache(j->owner->claims.informer), j->ns, ref.claim);
		if (!o) {
			get_claim(j, ref.claim, on_recorded);
			return false;
		}
		if (is_there(j, o))
			return true;
	}
	find_or_make(j);
	return false;
}

/* --- status and reservation ------------------------------------------------------------------ */

static void reserve_rest(struct pod_claims_job *j);

static void on_reserved(struct pod_claims_job *j, const struct client_answer *a UNUSED,
			const struct error *err)
{
	if (err) {
		work_fail(&j->work, "cannot reserve a claim", err);
		return;
	}
	next_entry(j);
	reserve_rest(j);
}

/* The claim of the entry, if it must be reserved; or NULL. */
static struct json *wants_reservation(struct pod_claims_job *j)
{
	struct pod_claims_ref ref = pod_claims_ref_of(j->pod, j->entry);
	struct cached *o = NULL;
	struct json *claim;

	if (ref.state == POD_CLAIMS_REF_NAMED)
		o = cache_get_in(informer_cache(j->owner->claims.informer), j->ns, ref.claim);
	if (!o || cached_tree_held(o, &j->work.arena, &claim, NULL) < 0 ||
	    (ref.template.n > 0 && !pod_claims_controlled_by(claim, pod_uid(j))))
		return NULL;
	return pod_claims_wants_reservation(claim, pod_uid(j)) ? claim : NULL;
}

static void reserve_rest(struct pod_claims_job *j)
{
	struct json *claim = NULL;

	while (j->entry && !(claim = wants_reservation(j)))
		j->entry = j->entry->next;
	if (!j->entry) {
		pod_claims_job_end(j, false);
		return;
	}
	pod_claims_reserve(&j->work.arena, claim, j->pod);
	j->on_answer = on_reserved;
	client_update_status(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource,
			     j->ns, json_text_at(json_getz(claim, "metadata"), "name"), claim);
}

/* For a pod without a node, the scheduler does it. */
static void reserve(struct pod_claims_job *j)
{
	bool placed = json_text_at(json_getz(j->pod, "spec"), "nodeName").n > 0;

	j->entry = placed ? first_entry(j) : NULL;
	reserve_rest(j);
}

static void on_told(struct pod_claims_job *j, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	if (err && err->code == ERR_NOT_FOUND)
		pod_claims_job_end(j, false);
	else if (err)
		work_fail(&j->work, "cannot tell a pod its claims", err);
	else
		reserve(j);
}

static void look_at_entries(struct pod_claims_job *j)
{
	struct resource_name name = { .ns = j->ns, .name = j->name, .subresource = STR("status") };

	while (j->entry) {
		if (!look_at_entry(j))
			return;
		next_entry(j);
	}
	if (!j->made) {
		reserve(j);
		return;
	}
	j->on_answer = on_told;
	j->work.request.query = STR("fieldManager=ResourceClaimController");
	client_patch(j->owner->ctx.client, &j->work.request, &j->owner->pods.resource, name,
		     CLIENT_PATCH_STRATEGIC,
		     pod_claims_status_patch(&j->work.arena, j->pod, j->made));
}

/*
 * Claims of pod groups are not created here. As upstream while its gate is off, a pod of a group
 * is ignored.
 */
static bool is_in_group(const struct json *pod)
{
	return json_text_at(json_getz(json_getz(pod, "spec"), "schedulingGroup"), "podGroupName").n;
}

void pod_claims_pod_begin(struct pod_claims_job *j)
{
	struct cached *o = cache_get_in(informer_cache(j->owner->pods.informer), j->ns, j->name);

	j->made_last = &j->made;
	if (!o || o->deleting || cached_tree_held(o, &j->work.arena, &j->pod, NULL) < 0 ||
	    pod_claims_pod_done(j->pod) || is_in_group(j->pod)) {
		pod_claims_job_end(j, false);
		return;
	}
	j->entry = first_entry(j);
	look_at_entries(j);
}
