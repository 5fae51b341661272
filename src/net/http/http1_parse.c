/*
 * Heads and trailers of HTTP/1.1. llhttp tokenises. We add the checks that it lacks even in its
 * strict mode, because messages that two parsers read differently allow request smuggling. A line
 * ends only in CR LF and is never folded, the start line has single spaces, we check the framing
 * fields, and llhttp must agree with us on the body.
 *
 * llhttp gets a section as a whole, so its spans are never split, fields are plain pointers into
 * the input, and it keeps no state between calls.
 */
#include "net/http/http1.h"
#include "net/net_limits.h"

#include <llhttp.h>

enum {
	/* In addition to the target: a method, the version, spaces and CR LF. */
	START_LINE_MAX = HTTP_TARGET_MAX + 64,
	VERSION_LEN = sizeof("HTTP/1.1") - 1,
};

static const bool token_chars[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
	['#'] = true,         ['$'] = true,         ['%'] = true,         ['&'] = true,
	['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true,
	['.'] = true,         ['^'] = true,         ['_'] = true,         ['`'] = true,
	['|'] = true,         ['~'] = true,
};

/* RFC 3986: characters of a host and port, including the brackets of IPv6. */
static const bool host_chars[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true,
	['.'] = true,         ['_'] = true,         ['~'] = true,         ['%'] = true,
	['!'] = true,         ['$'] = true,         ['&'] = true,         ['\''] = true,
	['('] = true,         [')'] = true,         ['*'] = true,         ['+'] = true,
	[','] = true,         [';'] = true,         ['='] = true,         [':'] = true,
	['['] = true,         [']'] = true,
};

static bool all_of(struct str s, const bool *chars)
{
	for (size_t i = 0; i < s.n; i++)
		if (!chars[(unsigned char)s.p[i]])
			return false;
	return true;
}

bool http1_is_token(struct str s)
{
	return s.n > 0 && all_of(s, token_chars);
}

bool http1_is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char ch = (unsigned char)s.p[i];

		if ((ch < ' ' && ch != '\t') || ch == 0x7f)
			return false;
	}
	return true;
}

int http1_blame(struct http1_fault *ret_fault, int status, const char *what)
{
	*ret_fault = (struct http1_fault){ .status = status, .what = what };
	return -ERR_PROTOCOL;
}

/* --- llhttp ----------------------------------------------------------------- */

static int on_header_field(llhttp_t *ll, const char *at, size_t n)
{
	struct http1_head *h = ll->data;
	struct http_field *last = &h->fields[h->n ? h->n - 1 : 0];

	if (h->n && last->name.p + last->name.n == at) {
		last->name.n += n;
		return 0;
	}
	if (h->complete || h->n == ARRAY_SIZE(h->fields))
		return -1;
	h->fields[h->n++] = (struct http_field){ .name = str_of(at, n) };
	return 0;
}

static int on_header_value(llhttp_t *ll, const char *at, size_t n)
{
	struct http1_head *h = ll->data;
	struct http_field *last = &h->fields[h->n ? h->n - 1 : 0];

	if (h->complete || !h->n)
		return -1;
	if (!last->value.p)
		last->value.p = at;
	last->value.n = (size_t)(at + n - last->value.p);
	return 0;
}

static int on_headers_complete(llhttp_t *ll)
{
	struct http1_head *h = ll->data;

	h->complete = true;
	h->chunked = ll->flags & F_CHUNKED;
	if (ll->flags & F_CONTENT_LENGTH)
		h->length = ll->content_length > INT64_MAX ? INT64_MIN
							   : (int64_t)ll->content_length;
	/* The protocol is switched later: until then such a message is like any other. */
	ll->upgrade = 0;
	return h->bodiless ? 1 : 0;
}

static int http1_parse_on_body(llhttp_t *ll UNUSED, const char *at UNUSED, size_t n UNUSED)
{
	return -1;
}

static int on_message_complete(llhttp_t *ll)
{
	((struct http1_head *)ll->data)->ended = true;
	return 0;
}

/* The section must end for llhttp where it ends for us: more is an error, less is incomplete. */
static int execute(struct http1_head *head, bool request, struct str prefix,
		   struct http1_fault *ret_fault)
{
	static const llhttp_settings_t settings = {
		.on_header_field = on_header_field,
		.on_header_value = on_header_value,
		.on_headers_complete = on_headers_complete,
		.on_body = http1_parse_on_body,
		.on_message_complete = on_message_complete,
	};
	llhttp_errno_t e = HPE_OK;
	llhttp_t ll;

	llhttp_init(&ll, request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
	ll.data = head;
	if (prefix.n)
		e = llhttp_execute(&ll, prefix.p, prefix.n);
	if (e == HPE_OK)
		e = llhttp_execute(&ll, head->base, head->size);
	if (e == HPE_OK && head->complete)
		return 0;
	if (e == HPE_INVALID_METHOD)
		return http1_blame(ret_fault, 501, "the method is unknown");
	return http1_blame(ret_fault, 400, "the header is malformed");
}

/* --- lines -------------------------------------------------------------------- */

static int too_many_fields(struct http1_fault *ret_fault)
{
	return http1_blame(ret_fault, 431, "the header fields are too large");
}

/*
 * One line of n bytes, without its LF. Sizes are checked before the rest, as for incomplete lines.
 */
static int scan_line(struct http1_scan *sc, const char *line, size_t n,
		     struct http1_fault *ret_fault)
{
	size_t end = sc->line + n + 1;

	if (!sc->started && end > START_LINE_MAX)
		return http1_blame(ret_fault, 414, "the start line is too long");
	if (sc->started && n > 1 && end - sc->fields > sc->fields_max)
		return too_many_fields(ret_fault);
	if (n == 0 || line[n - 1] != '\r')
		return http1_blame(ret_fault, 400, "a line does not end in CR LF");
	if (!sc->started) {
		sc->started = true;
		sc->fields = end;
		return 0;
	}
	if (n == 1)
		return 1;
	if (line[0] == ' ' || line[0] == '\t')
		return http1_blame(ret_fault, 400, "a field line is folded");
	return ++sc->lines > HTTP_HEADER_COUNT_MAX ? too_many_fields(ret_fault) : 0;
}

/* Fails early if the line that has begun is too long. */
static int scan_rest(struct http1_scan *sc, size_t n, struct http1_fault *ret_fault)
{
	sc->at = n;
	if (!sc->started && n + 1 > START_LINE_MAX)
		return http1_blame(ret_fault, 414, "the start line is too long");
	if (sc->started && n - sc->line > 1 && n + 1 - sc->fields > sc->fields_max)
		return too_many_fields(ret_fault);
	return 0;
}

void http1_scan_head(struct http1_scan *sc)
{
	*sc = (struct http1_scan){ .fields_max = sc->fields_max, .request = sc->request };
}

void http1_scan_trailers(struct http1_scan *sc)
{
	http1_scan_head(sc);
	sc->started = true;
}

int http1_scan(struct http1_scan *sc, struct str in, struct http1_fault *ret_fault)
{
	const char *lf;
	int r;

	/* A peer that uses a different protocol, such as TLS, need not be waited for. */
	if (sc->at == 0 && in.n > 0 && !sc->started &&
	    !(sc->request ? token_chars[(unsigned char)in.p[0]] : in.p[0] == 'H'))
		return http1_blame(ret_fault, 400, "this is not HTTP/1.1");
	while (sc->at < in.n && (lf = memchr(in.p + sc->at, '\n', in.n - sc->at))) {
		r = scan_line(sc, in.p + sc->line, (size_t)(lf - in.p) - sc->line, ret_fault);
		if (r < 0)
			return r;
		sc->at = sc->line = (size_t)(lf - in.p) + 1;
		if (r > 0)
			return 1;
	}
	return scan_rest(sc, in.n, ret_fault);
}

/* --- start lines ----------------------------------------------------------------- */

static int parse_version(struct http1_head *h, const char *v, struct http1_fault *ret_fault)
{
	if (memcmp(v, "HTTP/", 5) != 0 || v[6] != '.' || v[5] < '0' || v[5] > '9' || v[7] < '0' ||
	    v[7] > '9')
		return http1_blame(ret_fault, 400, "the start line has no HTTP version");
	if (v[5] != '1' || v[7] > '1')
		return http1_blame(ret_fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	h->version = v[7] == '1' ? HTTP_1_1 : HTTP_1_0;
	return 0;
}

/* method SP target SP version */
static int parse_request_line(struct http1_head *h, struct str line, struct http1_fault *ret_fault)
{
	ptrdiff_t sp = str_chr(line, ' ');
	int r;

	if (sp <= 0 || line.n < (size_t)sp + VERSION_LEN + 3 ||
	    line.p[line.n - VERSION_LEN - 1] != ' ')
		return http1_blame(ret_fault, 400, "the request line is malformed");
	h->method = str_of(line.p, (size_t)sp);
	r = parse_version(h, line.p + line.n - VERSION_LEN, ret_fault);
	if (r < 0)
		return r;
	h->target = str_of(line.p + sp + 1, line.n - VERSION_LEN - 2 - (size_t)sp);
	if (!http1_is_token(h->method) || str_chr(h->target, ' ') >= 0)
		return http1_blame(ret_fault, 400, "the request line is malformed");
	if (h->target.n > HTTP_TARGET_MAX)
		return http1_blame(ret_fault, 414, "the request target is too long");
	return 0;
}

/* version SP 3DIGIT [SP reason]: some servers omit the last space. */
static int parse_status_line(struct http1_head *h, struct str line, struct http1_fault *ret_fault)
{
	const char *digits = line.p + VERSION_LEN + 1;
	int r;

	if (line.n < VERSION_LEN + 4 || line.p[VERSION_LEN] != ' ' ||
	    (line.n > VERSION_LEN + 4 && digits[3] != ' '))
		return http1_blame(ret_fault, 400, "the status line is malformed");
	r = parse_version(h, line.p, ret_fault);
	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return http1_blame(ret_fault, 400, "the status is not a number");
		h->status = h->status * 10 + (digits[i] - '0');
	}
	if (h->status < 100 || (h->status == 101 && !h->may_switch))
		return http1_blame(ret_fault, 400, "the status was not asked for");
	h->bodiless = h->bodiless || h->status < 200 || h->status == 204 || h->status == 304;
	return 0;
}

/* --- fields -------------------------------------------------------------------------- */

/* Converts names to lower case, and trims values. */
static bool tidy_fields(struct http1_head *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct http_field *f = &h->fields[i];
		char *name = h->base + (f->name.p - h->base);

		if (!http1_is_token(f->name))
			return false;
		for (size_t k = 0; k < f->name.n; k++)
			if (name[k] >= 'A' && name[k] <= 'Z')
				name[k] = (char)(name[k] | 0x20);
		f->value = str_trim(f->value);
	}
	return true;
}

static void read_connection(struct http1_head *h, struct str value, bool *close)
{
	struct str option;

	while (str_split(&value, ',', &option)) {
		option = str_trim(option);
		if (str_ieq(option, STR("close")))
			*close = true;
		else if (str_ieq(option, STR("keep-alive")))
			h->keep_alive = true;
	}
}

/* A repeated field is as bad as an invalid one: the value becomes invalid. */
static void read_single(struct str *to, struct str value)
{
	*to = to->p ? STR(",") : str_of(value.p ? value.p : "", value.n);
}

static void read_fields(struct http1_head *h)
{
	bool close = false;

	h->keep_alive = h->version == HTTP_1_1;
	for (size_t i = 0; i < h->n; i++) {
		const struct http_field *f = &h->fields[i];

		if (f->name.n == 4 && str_eq(f->name, STR("host"))) {
			h->host = f->value;
			h->hosts++;
		} else if (f->name.n == 6 && str_eq(f->name, STR("expect"))) {
			read_single(&h->expect, f->value);
		} else if (f->name.n == 10 && str_eq(f->name, STR("connection"))) {
			read_connection(h, f->value, &close);
		} else if (f->name.n == 17 && str_eq(f->name, STR("transfer-encoding"))) {
			read_single(&h->coding, f->value);
		}
	}
	h->keep_alive = h->keep_alive && !close;
}

/*
 * RFC 9112, 6.1 and 6.3. llhttp has rejected repeated or odd Content-Length and a Content-Length
 * beside Transfer-Encoding; the codings remain.
 */
static int check_coding(const struct http1_head *h, struct http1_fault *ret_fault)
{
	struct str rest = h->coding, coding;

	if (!h->coding.p)
		return 0;
	if (h->version == HTTP_1_0)
		return http1_blame(ret_fault, 400, "HTTP/1.0 has no Transfer-Encoding");
	if (h->length >= 0)
		return http1_blame(ret_fault, 400, "both Content-Length and Transfer-Encoding");
	if (str_ieq(h->coding, STR("chunked")))
		return 0;
	while (str_split(&rest, ',', &coding)) {
		coding = str_trim(coding);
		if (!http1_is_token(coding) || (rest.p && str_ieq(coding, STR("chunked"))))
			return http1_blame(ret_fault, 400, "the Transfer-Encoding is malformed");
	}
	return http1_blame(ret_fault, 501, "only the transfer coding chunked is understood");
}

/*
 * "http://host/path": the host counts, not the Host field (RFC 9112, 3.2.2). An empty path is "/",
 * or "*" for OPTIONS.
 */
static int split_absolute(struct http1_head *h, size_t scheme, struct http1_fault *ret_fault)
{
	char *host = h->base + (h->target.p - h->base) + scheme;
	struct str rest = str_skip(h->target, scheme);
	size_t n = 0;

	while (n < rest.n && host_chars[(unsigned char)rest.p[n]])
		n++;
	if (n == 0 || (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?'))
		return http1_blame(ret_fault, 400, "the host in the request target is malformed");
	h->authority = str_of(host, n);
	h->target = str_skip(rest, n);
	if (n == rest.n) {
		h->target = str_eq(h->method, STR("OPTIONS")) ? STR("*") : STR("/");
	} else if (rest.p[n] == '?') {
		/* Moving the host over a slash of "://" makes room for the path's slash. */
		memmove(host - 1, host, n);
		host[n - 1] = '/';
		h->authority = str_of(host - 1, n);
		h->target = str_of(host + n - 1, rest.n - n + 1);
	}
	return 0;
}

static int check_target(struct http1_head *h, struct http1_fault *ret_fault)
{
	if (str_eq(h->method, STR("CONNECT")))
		return http1_blame(ret_fault, 405, "CONNECT is not supported");
	if (str_chr(h->target, '#') >= 0)
		return http1_blame(ret_fault, 400, "the request target has a fragment");
	if (h->target.p[0] == '/')
		return 0;
	if (str_ieq(str_of(h->target.p, MIN(h->target.n, (size_t)7)), STR("http://")))
		return split_absolute(h, 7, ret_fault);
	if (str_ieq(str_of(h->target.p, MIN(h->target.n, (size_t)8)), STR("https://")))
		return split_absolute(h, 8, ret_fault);
	if (str_eq(h->target, STR("*")) && str_eq(h->method, STR("OPTIONS")))
		return 0;
	return http1_blame(ret_fault, 400, "the request target is malformed");
}

/* RFC 9112, 3.2: exactly one valid Host, or 400. HTTP/1.0 may omit it. */
static int check_host(struct http1_head *h, struct http1_fault *ret_fault)
{
	if (h->hosts > 1 || (h->hosts == 0 && h->version == HTTP_1_1))
		return http1_blame(ret_fault, 400, "a request needs one Host field");
	if (!all_of(h->host, host_chars))
		return http1_blame(ret_fault, 400, "the Host field is malformed");
	return 0;
}

static int check_request(struct http1_head *h, struct http1_fault *ret_fault)
{
	int r = check_host(h, ret_fault);

	if (r < 0)
		return r;
	h->authority = h->host;
	r = check_target(h, ret_fault);
	if (r < 0)
		return r;
	if (h->expect.p && h->version == HTTP_1_1 && !str_ieq(h->expect, STR("100-continue")))
		return http1_blame(ret_fault, 417,
				   "only the expectation 100-continue is understood");
	return 0;
}

/* --- sections -------------------------------------------------------------------------- */

/* llhttp must agree with us on the body. */
static int check_agreement(const struct http1_head *h, struct http1_fault *ret_fault)
{
	bool endless = h->length < 0 && !h->chunked && h->status;
	bool ended = h->bodiless || (!h->chunked && !endless && h->length <= 0);

	if (h->length < -1 || h->ended != ended ||
	    (!h->bodiless && h->chunked != (h->coding.p != NULL)))
		return http1_blame(ret_fault, 400, "the length of the body is ambiguous");
	return 0;
}

static int check_head(const struct http1_scan *sc, struct http1_head *h,
		      struct http1_fault *ret_fault)
{
	int r = 0;

	if (!tidy_fields(h))
		return http1_blame(ret_fault, 400, "the name of a field is malformed");
	read_fields(h);
	if (!h->bodiless)
		r = check_coding(h, ret_fault);
	if (r == 0 && sc->request)
		r = check_request(h, ret_fault);
	return r;
}

int http1_parse_head(const struct http1_scan *sc, char *in, struct http1_head *head,
		     struct http1_fault *ret_fault)
{
	struct str line = str_of(in, sc->fields - 2);
	int r, parsed;

	head->base = in;
	head->size = sc->at;
	r = sc->request ? parse_request_line(head, line, ret_fault)
			: parse_status_line(head, line, ret_fault);
	if (r < 0)
		return r;
	parsed = execute(head, sc->request, STR_NULL, ret_fault);
	if (parsed < 0 && !head->complete)
		return parsed;
	/* Our verdict comes first: llhttp's does not distinguish 501 from 400. */
	r = check_head(sc, head, ret_fault);
	if (r < 0 || parsed < 0)
		return r < 0 ? r : parsed;
	return check_agreement(head, ret_fault);
}

/* llhttp has not seen the chunks: it parses trailers as the fields of a request. */
int http1_parse_trailers(const struct http1_scan *sc, char *in, struct http1_head *head,
			 struct http1_fault *ret_fault)
{
	int r;

	head->base = in;
	head->size = sc->at;
	r = execute(head, true, STR("GET / HTTP/1.1\r\n"), ret_fault);
	if (r < 0)
		return r;
	if (!tidy_fields(head))
		return http1_blame(ret_fault, 400, "the name of a field is malformed");
	return 0;
}
