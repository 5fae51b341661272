/*
 * Two passes: the first finds the parts, so that the list's kind is known when its items are
 * split, whatever the order of members.
 */
#include "client/informer/reflector_list.h"

#include "base/json/cursor.h"

static void read_meta(struct json_cursor *s, struct reflector_page *p)
{
	struct str key, raw;
	enum json_cursor_type type;

	if (!json_cursor_enter(s, '{'))
		return;
	while (json_cursor_member(s, &key, NULL) && json_cursor_value(s, &raw, &type)) {
		if (type != JSON_CURSOR_STRING)
			continue;
		if (str_eq(key, STR("resourceVersion")))
			p->rv = raw;
		else if (str_eq(key, STR("continue")))
			p->next = raw;
	}
}

static int add_items(struct json_cursor *s, const struct cached_defaults *d, struct cache *to,
		     struct reflector_page *p, struct error *err)
{
	struct str raw;
	enum json_cursor_type type;
	struct cached *o;
	int r;

	if (!json_cursor_enter(s, '['))
		return error_set(err, ERR_PROTOCOL,
				 "the server's list has an items field that is not a list");
	while (json_cursor_element(s) && json_cursor_value(s, &raw, &type)) {
		r = cached_new(raw, d, &o, err);
		if (r < 0)
			return r;
		cached_unref(cache_put(to, o));
		p->n++;
	}
	return s->p ? 0 : error_set(err, ERR_PROTOCOL, "the server's list is damaged");
}

int reflector_list_parse(struct str text, const struct cached_defaults *defaults, struct cache *to,
			 struct reflector_page *ret_page, struct error *err)
{
	struct json_cursor s = json_cursor_of(text), items = { 0 }, at;
	struct cached_defaults d = *defaults;
	struct str key, raw;
	enum json_cursor_type type;

	*ret_page = (struct reflector_page){ 0 };
	if (json_cursor_enter(&s, '{'))
		while (json_cursor_member(&s, &key, NULL)) {
			at = s;
			if (!json_cursor_value(&s, &raw, &type))
				break;
			if (str_eq(key, STR("kind")) && str_ends(raw, STR("List")))
				d.kind = str_of(raw.p, raw.n - 4);
			else if (str_eq(key, STR("apiVersion")))
				d.api_version = raw;
			else if (str_eq(key, STR("metadata")))
				read_meta(&at, ret_page);
			else if (str_eq(key, STR("items")) && type == JSON_CURSOR_NESTED)
				items = at;
		}
	if (!s.p || !d.kind.n || !ret_page->rv.n)
		return error_set(err, ERR_PROTOCOL, "the server sent no list: %.*s",
				 (int)MIN(text.n, (size_t)64), text.p ? text.p : "");
	/* An empty list may be written as null. */
	return items.p ? add_items(&items, &d, to, ret_page, err) : 0;
}
