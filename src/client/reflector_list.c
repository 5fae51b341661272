/*
 * Two walks: the first finds where things are, so that the list's kind is known when
 * its items are cut, whatever the order of members.
 */
#include "client/reflector_list.h"

#include "client/scan.h"

static void read_meta(struct scan *s, struct reflector_page *p)
{
	struct str key, raw;
	enum scan_type type;

	if (!scan_enter(s, '{'))
		return;
	while (scan_member(s, &key, NULL) && scan_value(s, &raw, &type)) {
		if (type != SCAN_TEXT)
			continue;
		if (str_eq(key, STR("resourceVersion")))
			p->rv = raw;
		else if (str_eq(key, STR("continue")))
			p->next = raw;
	}
}

static int add_items(struct scan *s, const struct cached_defaults *d, struct cache *to,
		     struct reflector_page *p, struct error *err)
{
	struct str raw;
	enum scan_type type;
	struct cached *o;
	int r;

	if (!scan_enter(s, '['))
		return error_set(err, ERR_PROTOCOL, "the server's list has items that are no list");
	while (scan_element(s) && scan_value(s, &raw, &type)) {
		r = cached_new(raw, d, &o, err);
		if (r < 0)
			return r;
		cached_unref(cache_put(to, o));
		p->n++;
	}
	return s->p ? 0 : error_set(err, ERR_PROTOCOL, "the server's list is damaged");
}

int reflector_list_parse(struct str text, bool slim, struct cache *to,
			 struct reflector_page *ret_page, struct error *err)
{
	struct scan s = scan_of(text), items = { 0 }, at;
	struct cached_defaults d = { .slim = slim };
	struct str key, raw;
	enum scan_type type;

	*ret_page = (struct reflector_page){ 0 };
	if (scan_enter(&s, '{'))
		while (scan_member(&s, &key, NULL)) {
			at = s;
			if (!scan_value(&s, &raw, &type))
				break;
			if (str_eq(key, STR("kind")) && str_ends(raw, STR("List")))
				d.kind = str_of(raw.p, raw.n - 4);
			else if (str_eq(key, STR("apiVersion")))
				d.api_version = raw;
			else if (str_eq(key, STR("metadata")))
				read_meta(&at, ret_page);
			else if (str_eq(key, STR("items")) && type == SCAN_NESTED)
				items = at;
		}
	if (!s.p || !d.kind.n || !ret_page->rv.n)
		return error_set(err, ERR_PROTOCOL, "the server sent no list: %.*s",
				 (int)MIN(text.n, (size_t)64), text.p ? text.p : "");
	/* An empty list may be written as null. */
	return items.p ? add_items(&items, &d, to, ret_page, err) : 0;
}
