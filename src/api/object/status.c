/*
 * Writes a Status straight into the buffer, in upstream's order of fields. For each code, a table
 * says how its message is composed and which details it has: upstream's constructors differ in
 * both, and clients print what they get. A code without a row has its message unchanged and no
 * details.
 */
#include "api/object/status.h"

#include "api/managed/managed.h"
#include "base/json/writer.h"
#include "base/text/print.h"

enum compose {
	AS_IS, /* the message unchanged */
	NOT_FOUND, /* RESOURCE "NAME" not found */
	ALREADY_EXISTS,
	APPLY_CONFLICT, /* composed from the conflicts */
	CONFLICT, /* Operation cannot be fulfilled on RESOURCE "NAME": MESSAGE */
	INVALID, /* KIND "NAME" is invalid: FAULTS */
	FORBIDDEN, /* RESOURCE "NAME" is forbidden: MESSAGE */
	PREFIXED, /* `text`, then the message */
};

enum details {
	NO_DETAILS, /* only if they are not empty */
	OF_RESOURCE, /* details.kind is the resource */
	OF_KIND, /* details.kind is the kind */
	ALWAYS, /* present even if empty */
	OF_CAUSE, /* one cause without a reason: the message */
	OF_CONFLICTS, /* one cause per conflict */
};

struct status_row {
	enum compose compose;
	enum details details;
	const char *text; /* prefix of PREFIXED; for others used if the message is empty; or NULL */
};

static const struct status_row rows[ERR_COUNT] = {
	[ERR_UNAUTHORIZED] = { AS_IS, NO_DETAILS, "Unauthorized" },
	[ERR_FORBIDDEN] = { FORBIDDEN, OF_RESOURCE, NULL },
	[ERR_NOT_FOUND] = { NOT_FOUND, OF_RESOURCE,
			    "the server could not find the requested resource" },
	[ERR_METHOD_NOT_ALLOWED] = { AS_IS, OF_RESOURCE,
				     "the server does not allow this method on the requested "
				     "resource" },
	[ERR_ALREADY_EXISTS] = { ALREADY_EXISTS, OF_RESOURCE, NULL },
	[ERR_CONFLICT] = { CONFLICT, OF_RESOURCE,
			   "the object has been modified; please apply your changes to the latest "
			   "version and try again" },
	[ERR_APPLY_CONFLICT] = { APPLY_CONFLICT, OF_CONFLICTS, NULL },
	[ERR_TOO_LARGE] = { PREFIXED, NO_DETAILS, "Request entity too large: " },
	[ERR_INVALID] = { INVALID, OF_KIND, NULL },
	[ERR_TOO_MANY_REQUESTS] = { AS_IS, ALWAYS, NULL },
	[ERR_INTERNAL] = { PREFIXED, OF_CAUSE, "Internal error occurred: " },
	[ERR_IO] = { PREFIXED, OF_CAUSE, "Internal error occurred: " },
	[ERR_PROTOCOL] = { PREFIXED, OF_CAUSE, "Internal error occurred: " },
	[ERR_SERVER_TIMEOUT] = { AS_IS, OF_RESOURCE, NULL },
	[ERR_TIMEOUT] = { PREFIXED, ALWAYS, "Timeout: " },
};

static struct str status_message_of(const struct error *err, const struct status_about *about)
{
	return about->message.n ? about->message : str_from(err->msg);
}

/* "pods", "resourceclaims.resource.k8s.io". */
static void add_qualified(struct buf *b, struct str name, struct str group)
{
	(void)buf_add_str(b, name);
	if (group.n) {
		(void)buf_addc(b, '.');
		(void)buf_add_str(b, group);
	}
}

/* The same, followed by the quoted name. */
static void status_add_object(struct buf *b, struct str of, const struct status_about *about)
{
	add_qualified(b, of, about->group);
	(void)buf_addc(b, ' ');
	(void)print_quoted(b, about->name);
}

static void compose_invalid(struct buf *b, const struct status_about *about)
{
	status_add_object(b, about->kind, about);
	(void)buf_addz(b, " is invalid");
	if (about->causes && field_errors_any(about->causes)) {
		(void)buf_addz(b, ": ");
		(void)field_errors_aggregate(about->causes, b);
	}
}

static void compose_forbidden(struct buf *b, struct str msg, const struct status_about *about)
{
	if (about->resource.n && about->name.n) {
		status_add_object(b, about->resource, about);
		(void)buf_addz(b, " is ");
	} else if (about->resource.n) {
		add_qualified(b, about->resource, about->group);
		(void)buf_addz(b, " is ");
	}
	(void)buf_addz(b, "forbidden: ");
	(void)buf_add_str(b, msg);
}

static void compose_conflict(struct buf *b, struct str msg, const struct status_about *about)
{
	(void)buf_addz(b, "Operation cannot be fulfilled on ");
	status_add_object(b, about->resource, about);
	(void)buf_addz(b, ": ");
	(void)buf_add_str(b, msg);
}

static const struct managed_applied *conflicts_of(const struct status_about *about)
{
	static const struct managed_applied none;

	return about->conflicts ? about->conflicts : &none;
}

/* Lists the fields, grouped by the manager that they conflict with. */
static void compose_apply_conflict(struct buf *b, const struct managed_applied *all)
{
	const struct managed_conflict *c = all->conflicts;
	struct str manager = STR_NULL;

	if (all->nconflicts == 1 && all->untold == 0) {
		(void)buf_printf(b, "Apply failed with 1 conflict: conflict with %.*s: %.*s",
				 STR_ARG(c->manager), STR_ARG(c->field));
		return;
	}
	(void)buf_printf(b, "Apply failed with %zu conflicts: ", all->nconflicts + all->untold);
	for (size_t i = 0; i < all->nconflicts; i++) {
		if (!str_eq(c[i].manager, manager))
			(void)buf_printf(b, "%sconflicts with %.*s:", manager.p ? "\n" : "",
					 STR_ARG(c[i].manager));
		manager = c[i].manager;
		(void)buf_printf(b, "\n- %.*s", STR_ARG(c[i].field));
	}
	if (all->untold)
		(void)buf_printf(b, "\nand %zu more", all->untold);
}

/* Composes the message of a Status into `b`. If the error has no message, uses the row's text. */
static void compose(struct buf *b, const struct status_row *row, const struct error *err,
		    const struct status_about *about)
{
	struct str told = status_message_of(err, about), msg = told.n ? told : str_from(row->text);
	bool named = about->resource.n && !told.n;

	if (row->compose == CONFLICT && about->resource.n) {
		compose_conflict(b, msg, about);
	} else if (row->compose == APPLY_CONFLICT) {
		compose_apply_conflict(b, conflicts_of(about));
	} else if (row->compose == FORBIDDEN) {
		compose_forbidden(b, told, about);
	} else if (row->compose == INVALID && !told.n) {
		compose_invalid(b, about);
	} else if (row->compose == NOT_FOUND && named) {
		status_add_object(b, about->resource, about);
		(void)buf_addz(b, " not found");
	} else if (row->compose == ALREADY_EXISTS && named) {
		status_add_object(b, about->resource, about);
		(void)buf_addz(b, " already exists");
	} else if (row->compose == PREFIXED) {
		(void)buf_addz(b, row->text);
		(void)buf_add_str(b, told);
	} else {
		(void)buf_add_str(b, msg);
	}
}

/* Messages quote what clients sent, which may not be UTF-8; the reply must be. */
static void status_put_text(struct json_writer *w, const char *key, struct str text)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT(text.n * 3 + 16);

	if (text.n == 0)
		return;
	json_writer_keyz(w, key);
	if (str_is_utf8(text)) {
		json_writer_str(w, text);
		return;
	}
	(void)print_json(&clean, text);
	json_writer_raw(w, buf_str(&clean));
}

static void put_cause(struct json_writer *w, const char *reason, struct str message,
		      struct str field)
{
	json_writer_begin_object(w);
	status_put_text(w, "reason", str_from(reason));
	status_put_text(w, "message", message);
	status_put_text(w, "field", field);
	json_writer_end_object(w);
}

static void put_field_causes(struct json_writer *w, const struct field_errors *causes)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(w->out->max);

	for (const struct field_error *e = causes ? causes->first : NULL; e; e = e->next) {
		buf_clear(&body);
		(void)field_error_print_body(e, &body);
		put_cause(w, field_error_reason(e->type), buf_str(&body), e->path);
	}
}

static void put_conflicts(struct json_writer *w, const struct managed_applied *all)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(w->out->max);

	json_writer_keyz(w, "causes");
	json_writer_begin_array(w);
	for (size_t i = 0; i < all->nconflicts; i++) {
		buf_clear(&text);
		(void)buf_printf(&text, "conflict with %.*s", STR_ARG(all->conflicts[i].manager));
		put_cause(w, "FieldManagerConflict", buf_str(&text), all->conflicts[i].field);
	}
	json_writer_end_array(w);
}

static void put_causes(struct json_writer *w, const struct status_row *row, const struct error *err,
		       const struct status_about *about)
{
	bool fields = about->causes && about->causes->n;

	if (!fields && !about->cause_reason && row->details != OF_CAUSE)
		return;
	json_writer_keyz(w, "causes");
	json_writer_begin_array(w);
	if (fields)
		put_field_causes(w, about->causes);
	if (about->cause_reason)
		put_cause(w, about->cause_reason,
			  about->cause_message ? str_from(about->cause_message)
					       : status_message_of(err, about),
			  str_from(about->cause_field));
	if (row->details == OF_CAUSE)
		put_cause(w, NULL, status_message_of(err, about), STR_NULL);
	json_writer_end_array(w);
}

static void put_details(struct json_writer *w, const struct status_row *row,
			const struct error *err, const struct status_about *about)
{
	bool named = row->details == OF_RESOURCE || row->details == OF_KIND;

	if (row->details == NO_DETAILS && !about->cause_reason && !about->retry_after_s)
		return;
	json_writer_keyz(w, "details");
	json_writer_begin_object(w);
	if (named) {
		status_put_text(w, "name", about->name);
		status_put_text(w, "group", about->group);
		status_put_text(w, "kind", row->details == OF_KIND ? about->kind : about->resource);
		status_put_text(w, "uid", about->uid);
	}
	if (row->details == OF_CONFLICTS)
		put_conflicts(w, conflicts_of(about));
	else
		put_causes(w, row, err, about);
	if (about->retry_after_s) {
		json_writer_keyz(w, "retryAfterSeconds");
		json_writer_i64(w, about->retry_after_s);
	}
	json_writer_end_object(w);
}

static void put_head(struct json_writer *w, const char *status, struct str cont)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "kind");
	json_writer_strz(w, "Status");
	json_writer_keyz(w, "apiVersion");
	json_writer_strz(w, "v1");
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	status_put_text(w, "continue", cont);
	json_writer_end_object(w);
	json_writer_keyz(w, "status");
	json_writer_strz(w, status);
}

int status_print(const struct error *err, const struct status_about *about, struct buf *out)
{
	static const struct status_about nothing;
	CLEANUP(buf_release) struct buf message = BUF_INIT(out->max);
	const struct status_row *row = &rows[err->code];
	struct json_writer w;

	if (!about)
		about = &nothing;
	compose(&message, row, err, about);
	json_writer_init(&w, out, NULL);
	put_head(&w, "Failure", about->cont);
	status_put_text(&w, "message", buf_str(&message));
	status_put_text(&w, "reason", str_from(error_reason(err->code)));
	put_details(&w, row, err, about);
	json_writer_keyz(&w, "code");
	json_writer_i64(&w, error_http_status(err->code));
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}

int status_print_deleted(const struct status_about *about, struct buf *out)
{
	static const struct status_row of_resource = { .details = OF_RESOURCE };
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	put_head(&w, "Success", STR_NULL);
	put_details(&w, &of_resource, &(struct error){ 0 }, about);
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}
