/*
 * A request is parsed before the policy is asked. One that is rejected before that (401) is parsed
 * for the log alone, so that a rule for its resource counts for it, too.
 */
#include "server/http/audit.h"

#include "api/codec/decode.h"
#include "api/schema/schema.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/system/uuid.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"
#include "server/server_limits.h"

enum { SHORT_MAX = 256 }; /* longest uid or resourceVersion */

void audit_begin(struct exchange *x)
{
	struct str given = http_fields_get(&x->stream->in.fields, STR("audit-id"));
	struct uuid id;

	if (given.n && given.n < sizeof(x->audit_id)) {
		str_put(x->audit_id, given);
		x->audit_id[given.n] = '\0';
		return;
	}
	uuid_make_seeded(&id, loop_prng(http_stream_loop(x->stream)));
	(void)uuid_print(&id, x->audit_id);
}

/* --- the policy --------------------------------------------------------------------------- */

/* A verb of a resource; else the method. */
static struct str verb_of(const struct exchange *x, const struct request *r)
{
	if (r->verb != REQUEST_NONE)
		return str_from(request_verb_name(r->verb));
	return arena_lower(x->arena, x->stream->in.method);
}

/* A Namespace counts as in itself, and a list of one object by name as about that object. */
static struct audit_question question_of(const struct exchange *x, const struct request *r)
{
	const struct user *u = x->impersonator ? x->impersonator : &x->user;
	bool itself = !r->ns.n && !r->group.n && str_eqz(r->resource, "namespaces");

	return (struct audit_question){
		.user = u->name.n ? u : NULL,
		.verb = verb_of(x, r),
		.is_path = !r->resource.n,
		.path = x->stream->in.path,
		.group = r->group,
		.resource = r->resource,
		.subresource = r->subresource,
		.ns = itself ? r->name : r->ns,
		.name = r->name.n ? r->name
				  : selector_required_value(&r->fields, STR("metadata.name")),
	};
}

static bool is_parsed(const struct request *r)
{
	return r->verb != REQUEST_NONE || r->resource.n || r->rest.n;
}

static const struct request *parse(struct exchange *x)
{
	const struct http_head *in = &x->stream->in;
	struct request *r = ARENA_NEW(x->arena, struct request);
	struct field_errors errs;

	field_errors_init(&errs, x->arena);
	(void)request_parse(r, x->arena, in->method, in->path, in->query, &errs, NULL);
	return r;
}

/* NULL: there is no audit log. */
static struct audit_note *note_of(struct exchange *x)
{
	struct audit *a = x->server->audit;
	struct audit_question q;

	if (!a || x->audit)
		return x->audit;
	x->audit = ARENA_NEW(x->arena, struct audit_note);
	x->audit->request = &x->request;
	if (audit_has_policy(a) && !is_parsed(&x->request))
		x->audit->request = parse(x);
	q = question_of(x, x->audit->request);
	x->audit->decision = audit_decide(a, x->lane, &q);
	return x->audit;
}

/* --- events ------------------------------------------------------------------------------- */

static struct str text_of(const struct bytes *b)
{
	return b ? bytes_str(b) : STR("");
}

static struct audit_event event_of(const struct exchange *x, enum audit_stage stage)
{
	const struct audit_note *n = x->audit;
	const struct request *r = n->request;
	const struct conn *c = http_stream_conn(x->stream);
	const struct addr *peer = c ? conn_peer(c) : NULL;

	return (struct audit_event){
		.level = n->decision.level,
		.stage = stage,
		.id = str_from(x->audit_id),
		.uri = x->stream->in.target,
		.verb = verb_of(x, r),
		.user_agent = http_fields_get(&x->stream->in.fields, STR("user-agent")),
		.user = x->impersonator ? x->impersonator : &x->user,
		.impersonated = x->impersonator ? &x->user : NULL,
		.source = peer && peer->kind == ADDR_INET ? peer->host : NULL,
		.resource = r->resource,
		.ns = r->ns,
		.name = x->about.name.n ? x->about.name : r->name,
		.group = r->group,
		.version = r->version,
		.subresource = r->subresource,
		.uid = n->uid,
		.resource_version = n->resource_version,
		.code = x->status,
		.status = n->status,
		.request = text_of(n->sent),
		.response = text_of(n->returned),
		.cut = n->cut,
		.received_ns = x->wall_ns,
		.now_ns = clock_wall(x->server->clock),
		.decision = n->authorization,
		.reason = n->reason,
		.annotations = x->about.annotations,
	};
}

/* Returns false if the event is lost. */
static bool audit_tell(struct exchange *x, enum audit_stage stage)
{
	const struct audit_note *n = note_of(x);
	struct audit_event e;

	if (!n || audit_omits(&n->decision, stage))
		return true;
	e = event_of(x, stage);
	return audit_emit(x->server->audit, &e);
}

bool audit_received(struct exchange *x)
{
	struct audit *a = x->server->audit;

	if (audit_tell(x, AUDIT_RECEIVED) || !audit_is_strict(a))
		return true;
	audit_count_rejection(a);
	return false;
}

void audit_started(struct exchange *x)
{
	(void)audit_tell(x, AUDIT_STARTED);
}

void audit_end(struct exchange *x)
{
	(void)audit_tell(x, AUDIT_COMPLETE);
}

void audit_authorized(struct exchange *x, int code, struct str reason)
{
	struct audit_note *n = note_of(x);

	if (!n || n->decision.level == AUDIT_NONE || (code && code != ERR_FORBIDDEN))
		return;
	n->authorization = code ? STR("forbid") : STR("allow");
	n->reason = arena_str(x->arena, reason);
}

/* --- objects ------------------------------------------------------------------------------ */

static void drop_bytes(void *bytes)
{
	bytes_unref(bytes);
}

/* Takes over the bytes, which count as the client's memory; NULL: they are too large. */
static struct bytes *keep(struct exchange *x, struct bytes *object)
{
	if (object && memory_take_rest(x, object->n)) {
		arena_hold(x->arena, drop_bytes, object);
		return object;
	}
	bytes_unref(object);
	x->audit->cut = true;
	return NULL;
}

static const struct schema_kind *body_kind(const struct exchange *x)
{
	const struct schema_subresource *s = x->sub;

	if (x->request.verb == REQUEST_DELETE || x->request.verb == REQUEST_DELETE_COLLECTION)
		return schema_kind_of(schema_delete_options());
	if (!s)
		return x->kind;
	return schema_find_kind(str_from(arena_printf(x->arena, "%.*s/%.*s", STR_ARG(s->group),
						      STR_ARG(s->version))),
				s->kind);
}

static bool names(struct str type, const char *format)
{
	struct str f = str_from(format);

	for (size_t i = 0; i + f.n <= type.n; i++)
		if (memcmp(type.p + i, f.p, f.n) == 0)
			return true;
	return false;
}

static int body_tree(const struct exchange *x, struct arena *a, struct json **ret_tree)
{
	struct str type = arena_lower(a,
				      http_fields_get(&x->stream->in.fields, STR("content-type")));
	const struct schema_kind *kind;
	struct decode_report report = { 0 };

	if (!names(type, "protobuf"))
		return decode_parse(a, x->body, names(type, "yaml") ? DECODE_YAML : DECODE_JSON,
				    NULL, ret_tree, NULL);
	kind = body_kind(x);
	if (!kind)
		return -ERR_BAD_REQUEST;
	return decode_body(a, x->body, DECODE_PROTOBUF, kind, &report, ret_tree, NULL);
}

/* Empty if it is absent or too long for what it should be. */
static struct str short_text(const struct json *meta, const char *key)
{
	struct str text = json_text_at(meta, key);

	return text.n <= SHORT_MAX ? text : STR("");
}

/* As in upstream, a body that cannot be decoded is not in the event. */
void audit_request(struct exchange *x)
{
	CLEANUP(arena_release) struct arena scratch;
	struct audit_note *n = note_of(x);
	struct json *tree = NULL;
	const struct json *meta;

	arena_init(&scratch, AUDIT_TREE_MAX);
	if (!n || n->decision.level < AUDIT_REQUEST || !x->request.resource.n || !x->body.n)
		return;
	if (body_tree(x, &scratch, &tree) < 0)
		return;
	meta = json_getz(tree, "metadata");
	n->uid = arena_str(x->arena, short_text(meta, "uid"));
	n->resource_version = arena_str(x->arena, short_text(meta, "resourceVersion"));
	n->sent = keep(x, audit_object_of_tree(tree, n->decision.omit_managed));
}

bool audit_wants_response(const struct exchange *x)
{
	return x->audit && x->audit->decision.level == AUDIT_REQUEST_RESPONSE && !x->answered &&
	       !x->audit->returned && x->audit->request->resource.n;
}

void audit_response(struct exchange *x, struct bytes *json)
{
	if (!audit_wants_response(x))
		return;
	if (x->audit->decision.omit_managed)
		json = audit_object_of_text(bytes_str(json), true);
	else
		json = json->n > AUDIT_OBJECT_MAX ? NULL : bytes_ref(json);
	x->audit->returned = keep(x, json);
}

void audit_response_tree(struct exchange *x, const struct json *tree)
{
	if (audit_wants_response(x))
		x->audit->returned = keep(
			x, audit_object_of_tree(tree, x->audit->decision.omit_managed));
}

void audit_response_cut(struct exchange *x)
{
	x->audit->cut = true;
}

/* Without a policy an event has no more than the status' code. */
void audit_failure(struct exchange *x, struct str status)
{
	struct audit_note *n = note_of(x);

	if (!n || n->decision.level == AUDIT_NONE || x->answered || n->status.n ||
	    !audit_has_policy(x->server->audit))
		return;
	if (status.n <= AUDIT_STATUS_MAX)
		n->status = arena_str(x->arena, status);
	if (audit_wants_response(x))
		n->returned = keep(x, bytes_copy(status));
}
