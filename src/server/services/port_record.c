/*
 * The list is read and written as a whole: by default it has at most a few thousand ports.
 */
#include "server/services/port_record.h"

#include "base/core/buf.h"
#include "base/core/compiler.h"
#include "server/core/ensure.h"

/* The worst case is every second port: "65535," for each. */
enum { TEXT_MAX = (PORT_SET_MAX / 2 + 1) * 6 };

const struct schema_kind *port_record_kind(void)
{
	return schema_find_resource(STR(""), STR("v1"), STR("configmaps"));
}

/* "30080", or "30443-30450"; must be after `last`, so that no port is visited twice. */
static bool read_piece(struct str piece, uint64_t *last, struct port_set *ports)
{
	struct str first;
	uint64_t a, b;

	if (!str_split(&piece, '-', &first) || !str_to_u64(first, &a))
		return false;
	b = a;
	if ((piece.p && !str_to_u64(piece, &b)) || a <= *last || b > PORT_SET_MAX || a > b)
		return false;
	*last = b;
	for (uint64_t port = a; port <= b; port++)
		port_set_add(ports, (int64_t)port);
	return true;
}

bool port_record_read(struct str text, struct port_set *ret_ports)
{
	struct str rest = text, piece;
	uint64_t last = 0;

	*ret_ports = (struct port_set){ 0 };
	while (text.n && str_split(&rest, ',', &piece)) {
		if (read_piece(piece, &last, ret_ports))
			continue;
		*ret_ports = (struct port_set){ 0 };
		return false;
	}
	return true;
}

struct str port_record_print(const struct port_set *ports, struct arena *a)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(TEXT_MAX);
	int64_t last;

	for (int64_t first = port_set_next(ports, 1); first;
	     first = port_set_next(ports, last + 1)) {
		for (last = first; port_set_has(ports, last + 1);)
			last++;
		(void)buf_printf(&text, "%s%d", text.n ? "," : "", (int)first);
		if (last > first)
			(void)buf_printf(&text, "-%d", (int)last);
	}
	return arena_str(a, buf_str(&text));
}

bool port_record_of(const struct json *tree, struct port_set *ret_ports)
{
	const struct json *taken = json_getz(json_getz(tree, "data"), "taken");

	*ret_ports = (struct port_set){ 0 };
	return json_is(taken, JSON_STRING) && port_record_read(json_str(taken), ret_ports);
}

void port_record_write(struct ensure *e, const struct port_set *ports)
{
	struct arena *a = ensure_arena(e);
	struct json *there = ensure_tree(e, port_record_kind(), PORT_RECORD_NS, PORT_RECORD_NAME);
	struct json *body = json_make_object(a), *meta;

	json_put_str(a, json_need_object(a, body, "data"), "taken", port_record_print(ports, a));
	if (there) {
		ensure_patch(e, port_record_kind(), there, body, ENSURE_MANAGER);
		return;
	}
	json_put_str(a, body, "apiVersion", STR("v1"));
	json_put_str(a, body, "kind", STR("ConfigMap"));
	meta = json_need_object(a, body, "metadata");
	json_put_str(a, meta, "namespace", PORT_RECORD_NS);
	json_put_str(a, meta, "name", PORT_RECORD_NAME);
	ensure_create(e, port_record_kind(), body, ENSURE_MANAGER);
}
