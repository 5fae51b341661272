/*
 * The verbs on objects: each is a method, a path and an optional body. client_send() copies all
 * text, so these functions keep it on their stack.
 */
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "client/api/client.h"
#include "client/client_limits.h"
#include "net/net_limits.h"

void client_query_add(struct buf *query, const char *name, struct str value)
{
	if (query->n)
		(void)buf_addc(query, '&');
	(void)buf_printf(query, "%s=", name);
	resource_escape(query, value);
}

/* Sends *r with the path and, if not NULL, the tree; restores r's own text. */
static void send_to(struct client *c, struct client_request *r, const struct resource *what,
		    struct resource_name name, const struct json *tree)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(HTTP_TARGET_MAX);
	CLEANUP(buf_release) struct buf body = BUF_INIT(CLIENT_ANSWER_MAX);
	struct str own = r->body;

	resource_path(&path, what, name);
	if (tree) {
		/*
		 * Printed as Go's clients do: upstream keeps some fields (a claim's parameters) as
		 * raw text and compares them byte for byte.
		 */
		(void)json_print(&body, tree, &(struct json_style){ .html = true });
		r->body = buf_str(&body);
	}
	r->path = buf_str(&path);
	client_send(c, r);
	r->path = STR_NULL;
	r->body = own;
}

void client_call(struct client *c, struct client_request *r, const struct resource *what,
		 struct resource_name name, const struct json *tree)
{
	send_to(c, r, what, name, tree);
}

void client_get(struct client *c, struct client_request *r, const struct resource *what,
		struct str ns, struct str name)
{
	r->method = STR("GET");
	r->body = STR_NULL;
	send_to(c, r, what, (struct resource_name){ .ns = ns, .name = name }, NULL);
}

void client_list(struct client *c, struct client_request *r, const struct resource *what,
		 struct str ns)
{
	client_get(c, r, what, ns, STR_NULL);
}

void client_create(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, const struct json *tree)
{
	r->method = STR("POST");
	r->content_type = STR_NULL;
	send_to(c, r, what, (struct resource_name){ .ns = ns }, tree);
}

void client_update(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, struct str name, const struct json *tree)
{
	r->method = STR("PUT");
	r->content_type = STR_NULL;
	send_to(c, r, what, (struct resource_name){ .ns = ns, .name = name }, tree);
}

void client_update_status(struct client *c, struct client_request *r, const struct resource *what,
			  struct str ns, struct str name, const struct json *tree)
{
	r->method = STR("PUT");
	r->content_type = STR_NULL;
	send_to(c, r, what, (struct resource_name){ ns, name, STR("status") }, tree);
}

void client_patch(struct client *c, struct client_request *r, const struct resource *what,
		  struct resource_name name, enum client_patch_type type, const struct json *tree)
{
	static const char *const types[] = {
		[CLIENT_PATCH_MERGE] = "application/merge-patch+json",
		[CLIENT_PATCH_JSON] = "application/json-patch+json",
		[CLIENT_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
		[CLIENT_PATCH_APPLY] = "application/apply-patch+yaml",
	};

	r->method = STR("PATCH");
	r->content_type = str_from(types[type]);
	send_to(c, r, what, name, tree);
	r->content_type = STR_NULL;
}

static void write_member(struct json_writer *w, const char *name, struct str value)
{
	if (!value.n)
		return;
	json_writer_keyz(w, name);
	json_writer_str(w, value);
}

static void print_delete_options(struct buf *out, const struct client_delete_opts *o)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	write_member(&w, "kind", STR("DeleteOptions"));
	write_member(&w, "apiVersion", STR("v1"));
	write_member(&w, "propagationPolicy", str_from(o->propagation));
	if (o->has_grace) {
		json_writer_keyz(&w, "gracePeriodSeconds");
		json_writer_i64(&w, o->grace_s);
	}
	if (o->uid.n || o->resource_version.n) {
		json_writer_keyz(&w, "preconditions");
		json_writer_begin_object(&w);
		write_member(&w, "uid", o->uid);
		write_member(&w, "resourceVersion", o->resource_version);
		json_writer_end_object(&w);
	}
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

static void send_delete(struct client *c, struct client_request *r, const struct resource *what,
			struct resource_name name, const struct client_delete_opts *opts)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(64 * KIB);

	r->method = STR("DELETE");
	r->content_type = STR_NULL;
	r->body = STR_NULL;
	if (opts) {
		print_delete_options(&body, opts);
		r->body = buf_str(&body);
	}
	send_to(c, r, what, name, NULL);
	r->body = STR_NULL;
}

void client_delete(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, struct str name, const struct client_delete_opts *opts)
{
	send_delete(c, r, what, (struct resource_name){ .ns = ns, .name = name }, opts);
}

void client_delete_collection(struct client *c, struct client_request *r,
			      const struct resource *what, struct str ns,
			      const struct client_delete_opts *opts)
{
	send_delete(c, r, what, (struct resource_name){ .ns = ns }, opts);
}
