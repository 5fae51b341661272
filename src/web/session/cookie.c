/*
 * Cookies are parsed as RFC 6265, 4.2.1 says they are written: pairs joined by "; ". Malformed
 * pairs are skipped, because browsers also keep other cookies for the same host. Values are not
 * decoded: ours needs no decoding.
 */
#include "web/session/cookie.h"

#include "base/core/arena.h"
#include "net/http/http.h"

#define PAGE_HEADER "X-Devplane-UI"

const struct ui_cookie_kind ui_cookie_host = { .name = UI_COOKIE_NAME };

enum ui_cookie ui_cookie_read(const struct ui_cookie_kind *k, const struct http_fields *fields,
			      struct str *ret_value)
{
	struct str rest, pair, name;
	size_t found = 0;

	for (size_t i = 0; i < fields->n; i++) {
		if (!str_eqz(fields->v[i].name, "cookie"))
			continue;
		rest = fields->v[i].value;
		while (str_split(&rest, ';', &pair)) {
			pair = str_trim(pair);
			if (str_chr(pair, '=') < 0)
				continue;
			(void)str_split(&pair, '=', &name);
			if (!str_eqz(name, k->name))
				continue;
			*ret_value = pair;
			found++;
		}
	}
	return found > 1 ? UI_COOKIE_MANY : found ? UI_COOKIE_ONE : UI_COOKIE_NONE;
}

static bool is_of_page(const struct http_head *in)
{
	return str_eqz(http_fields_get(&in->fields, STR("x-devplane-ui")), "1");
}

/* Whether a page of another site made the request, by headers that browsers add. */
static bool is_of_other_site(const struct ui_cookie_kind *k, const struct http_head *in)
{
	struct str site = http_fields_get(&in->fields, STR("sec-fetch-site"));
	struct str origin = http_fields_get(&in->fields, STR("origin"));
	struct str scheme = k->plain ? STR("http://") : STR("https://");

	/*
	 * Fetch metadata: "none" means that a person typed the URL; "same-site" is another port of
	 * the host.
	 */
	if (site.p && !str_eqz(site, "same-origin") && !str_eqz(site, "none"))
		return true;
	/* Browsers omit the scheme's default port in both. */
	return origin.p &&
	       (!str_starts(origin, scheme) || !str_ieq(str_skip(origin, scheme.n), in->authority));
}

int ui_cookie_check_page(const struct ui_cookie_kind *k, const struct http_head *in,
			 struct error *err)
{
	if (!is_of_page(in))
		return error_set(err, ERR_FORBIDDEN,
				 "the session cookie counts only beside the header \"" PAGE_HEADER
				 ": 1\", which no form and no other site can send");
	if (is_of_other_site(k, in))
		return error_set(err, ERR_FORBIDDEN,
				 "the request was made by a page of another site");
	return 0;
}

static bool is_read(struct str method)
{
	return str_eqz(method, "GET") || str_eqz(method, "HEAD") || str_eqz(method, "OPTIONS");
}

int ui_cookie_claim(const struct ui_cookie_kind *k, const struct http_head *in, struct str *ret_id,
		    struct error *err)
{
	struct str id;
	enum ui_cookie cookie = ui_cookie_read(k, &in->fields, &id);
	int r;

	if (cookie == UI_COOKIE_NONE || http_fields_get(&in->fields, STR("authorization")).p)
		return 0;
	if (!is_of_page(in) && is_read(in->method))
		return 0;
	r = ui_cookie_check_page(k, in, err);
	if (r < 0)
		return r;
	if (cookie == UI_COOKIE_MANY || !id.n)
		return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	*ret_id = id;
	return 1;
}

const char *ui_cookie_text(struct arena *a, const struct ui_cookie_kind *k, const char *id)
{
	return arena_printf(a, "%s=%s%s; Path=/%s; HttpOnly; SameSite=Strict", k->name,
			    id ? id : "", id ? "" : "; Max-Age=0", k->plain ? "" : "; Secure");
}
