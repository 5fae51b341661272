/*
 * Messages by hand, good and bad. Every one is fed whole, byte by byte and cut
 * at every place, and must lead to the same answers and the same callbacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/http1.h"
#include "net/http/wire.h"
#include "net/net_limits.h"

#define GET   "GET /now HTTP/1.1\r\n"
#define POST  "POST /echo HTTP/1.1\r\nHost: a\r\n"
#define CHUNK POST "Transfer-Encoding: chunked\r\n\r\n"
#define OK    "HTTP/1.1 200 OK\r\n"
#define END   "\r\n\r\n"
/* The request that an attacker tries to smuggle. */
#define SMUGGLED "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

struct vector {
	const char *p;
	size_t n;
	int status; /* of the first answer */
	const char *log; /* all of it, or NULL */
};

#define V(literal, status, log)                           \
	{                                                 \
		literal, sizeof(literal) - 1, status, log \
	}

/* Everything that can be seen of a run. */
static char *transcript(struct http_wire *w)
{
	struct buf b = BUF_INIT(64 * MIB);

	(void)buf_printf(&b, "%s\n---\n%s\n---\nresult %d done %d draining %d", w->out.p, w->log.p,
			 w->result, w->session->done, w->session->draining);
	return buf_take(&b);
}

/* `cut`: 0 whole, SIZE_MAX byte by byte, else where to cut in two. */
static char *run(bool server, struct str in, size_t cut, const char *method)
{
	struct http_wire w;
	char *seen;

	http_wire_init(&w, server, NULL);
	if (!server) {
		(void)http_wire_ask(&w, method, "/x", NULL);
		http_wire_flush(&w);
		buf_clear(&w.out);
	}
	if (cut == SIZE_MAX) {
		http_wire_feed(&w, in, 1);
	} else {
		http_wire_feed(&w, str_of(in.p, cut ? cut : in.n), 0);
		if (cut && w.result == 0)
			http_wire_feed(&w, str_skip(in, cut), 0);
	}
	seen = transcript(&w);
	http_wire_release(&w);
	return seen;
}

static char *run_all_ways(bool server, struct str in, const char *method)
{
	char *whole = run(server, in, 0, method), *other = run(server, in, SIZE_MAX, method);

	assert_string_equal(other, whole);
	free(other);
	for (size_t cut = 1; cut < in.n; cut++) {
		other = run(server, in, cut, method);
		assert_string_equal(other, whole);
		free(other);
	}
	return whole;
}

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void check_requests(const struct vector *v, size_t n)
{
	char status[32];

	for (size_t i = 0; i < n; i++) {
		char *seen = run_all_ways(true, str_of(v[i].p, v[i].n), "");

		(void)snprintf(status, sizeof(status), "HTTP/1.1 %d ", v[i].status);
		if (strncmp(seen, status, strlen(status)) != 0)
			fail_msg("wanted %s for:\n%s\ngot:\n%s", status, v[i].p, seen);
		if (v[i].log)
			contains(seen, v[i].log);
		free(seen);
	}
}

/* Refused: nothing reaches a handler, nothing after it is looked at, the connection ends. */
static void check_refused(const struct vector *v, size_t n)
{
	check_requests(v, n);
	for (size_t i = 0; i < n; i++) {
		char *seen = run_all_ways(true, str_of(v[i].p, v[i].n), "");

		contains(seen, "\r\nConnection: close\r\n");
		contains(seen, "---\n\n---\nresult 0 done 1 draining 1");
		free(seen);
	}
}

static void good_requests_are_understood(void **state UNUSED)
{
	static const struct vector v[] = {
		V(GET "Host: a" END, 200, "request GET /now host=a\nend\nclose\n"),
		V("\r\n\r\n" GET "Host: a" END, 200, "request GET /now host=a\n"),
		V(GET "hOsT:a" END, 200, "host=a\n"),
		V(GET "Host: \t a.b:80 \t " END, 200, "host=a.b:80\n"),
		V(GET "Host: [::1]:6443" END, 200, "host=[::1]:6443\n"),
		V(GET "Host:" END, 200, "host=\n"),
		V(GET "Host: a\r\nX:\r\nY: \r\nZ: \x80\xff" END, 200, "host=a\n"),
		V("GET /now?a=b&c HTTP/1.1\r\nHost: a" END, 200, "GET /now?a=b&c host=a\n"),
		V("GET http://b:1/now?x HTTP/1.1\r\nHost: a" END, 200, "GET /now?x host=b:1\n"),
		V("GET HTTPS://b HTTP/1.1\r\nHost: a" END, 200, "GET / host=b\n"),
		V("GET http://bcd?x=y HTTP/1.1\r\nHost: a" END, 200, "GET /?x=y host=bcd\n"),
		V("OPTIONS * HTTP/1.1\r\nHost: a" END, 200, "OPTIONS * host=a\n"),
		V("OPTIONS http://b HTTP/1.1\r\nHost: a" END, 200, "OPTIONS * host=b\n"),
		V("PATCH /now HTTP/1.1\r\nHost: a" END, 200, "PATCH /now host=a\n"),
		V("GET /now HTTP/1.0" END, 200, "GET /now host=\nend\nclose\n"),
		V(GET "Host: a\r\nUpgrade: h2c\r\nConnection: Upgrade" END, 200, "end\nclose\n"),
		V(POST "Content-Length: 3" END "abc", 200, "host=a\nclose\n"),
		V(POST "Content-Length: 003" END "abc", 200, NULL),
		V(POST "Content-Length: 0" END, 200, NULL),
		V("POST /x HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\n"
		  "Content-Length: 3" END "abc",
		  200, "body=abc\nend\nclose\n"),
	};

	check_requests(v, ARRAY_SIZE(v));
}

static void malformed_requests_are_400(void **state UNUSED)
{
	static const struct vector v[] = {
		V("\x16\x03\x01\x02", 400, NULL),
		V("\r\r\n", 400, NULL),
		V("\n", 400, NULL),
		V(" GET / HTTP/1.1\r\nHost: a" END, 400, NULL),
		V("GET\r\n\r\n" SMUGGLED, 400, NULL),
		V("GET /\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET  / HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /  HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET\t/ HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET / HTTP/1.1 \r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /a b HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET / HTTP/11\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET / HTTP/1.10\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET / http/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET / RTSP/1.0\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /\x01 HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /\x80 HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /\0 HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET /a#b HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET * HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET a HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET ftp://a/ HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET http:///x HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("GET http://u@h/x HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V("G(T / HTTP/1.1\r\nHost: a" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\n: x" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX y: z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX(: z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX\x80: z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\0z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\x01z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\x7fz" END SMUGGLED, 400, NULL),
		V(GET "\r\n" SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nHost: a" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nhost: b" END SMUGGLED, 400, NULL),
		V(GET "Host: a/b" END SMUGGLED, 400, NULL),
		V(GET "Host: u@a" END SMUGGLED, 400, NULL),
		V(GET "Host: a b" END SMUGGLED, 400, NULL),
		V("GET http://b/ HTTP/1.1\r\n\r\n" SMUGGLED, 400, NULL),
	};

	check_refused(v, ARRAY_SIZE(v));
}

static void smuggling_is_refused(void **state UNUSED)
{
	static const struct vector v[] = {
		/* Line ends and folding. */
		V("GET /now HTTP/1.1\nHost: a\n\n" SMUGGLED, 400, NULL),
		V("GET /now HTTP/1.1\nHost: a" END SMUGGLED, 400, NULL),
		V(GET "Host: a\nX: y" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\n\n" SMUGGLED, 400, NULL),
		V(GET "Host: a\rX: y" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX:\rContent-Length: 5" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\r\n\rGET" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\r\n z" END SMUGGLED, 400, NULL),
		V(GET "Host: a\r\nX: y\r\n\tz" END SMUGGLED, 400, NULL),
		V(GET " Host: a" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding:\r\n chunked" END "0" END SMUGGLED, 400, NULL),
		/* Names. */
		V(POST "Content-Length : 5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length\t: 5" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding : chunked" END "0" END SMUGGLED, 400, NULL),
		V(POST "Content-Length\x0b: 5" END SMUGGLED, 400, NULL),
		/* Lengths. */
		V(POST "Content-Length: 5\r\nContent-Length: 5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 5\r\nContent-Length: 6" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 5, 5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 5,6" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: +5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: -5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 0x5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 5 5" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 5a" END SMUGGLED, 400, NULL),
		V(POST "Content-Length:" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: \"5\"" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 9223372036854775808" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 18446744073709551615" END SMUGGLED, 400, NULL),
		V(POST "Content-Length: 18446744073709551621" END SMUGGLED, 400, NULL),
		/* Codings. */
		V(POST "Content-Length: 5\r\nTransfer-Encoding: chunked" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chunked\r\nContent-Length: 5" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: gzip\r\nContent-Length: 5" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chunked, gzip" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chunked, chunked" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" END SMUGGLED, 400,
		  NULL),
		V(POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked" END SMUGGLED, 400,
		  NULL),
		V(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x" END SMUGGLED, 400,
		  NULL),
		V(POST "Transfer-Encoding: chunked," END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: ,chunked" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: \"chunked\"" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chunked;q=1" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: chu nked" END SMUGGLED, 400, NULL),
		V(POST "Transfer-Encoding: \x0b"
		       "chunked" END SMUGGLED,
		  400, NULL),
		V(POST "Transfer-Encoding:" END SMUGGLED, 400, NULL),
		V("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked" END "0" END SMUGGLED, 400,
		  NULL),
		V(POST "Transfer-Encoding: gzip, chunked" END SMUGGLED, 501, NULL),
		V(POST "Transfer-Encoding: gzip" END SMUGGLED, 501, NULL),
		V(POST "Transfer-Encoding: xchunked" END SMUGGLED, 501, NULL),
		V(POST "Transfer-Encoding: chunkedx" END SMUGGLED, 501, NULL),
		V(POST "Transfer-Encoding: identity" END SMUGGLED, 501, NULL),
	};

	check_refused(v, ARRAY_SIZE(v));
}

static void unsupported_versions_have_their_own_status(void **state UNUSED)
{
	static const struct vector v[] = {
		V("GET / HTTP/2.0\r\nHost: a" END, 505, NULL),
		V("GET / HTTP/1.2\r\nHost: a" END, 505, NULL),
		V("GET / HTTP/0.9\r\nHost: a" END, 505, NULL),
		V("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, NULL),
		V("CONNECT a:80 HTTP/1.1\r\nHost: a" END SMUGGLED, 405, NULL),
		V("FROBNICATE / HTTP/1.1\r\nHost: a" END SMUGGLED, 501, NULL),
		V("get / HTTP/1.1\r\nHost: a" END SMUGGLED, 501, NULL),
		V(POST "Expect: 200-ok\r\nContent-Length: 3" END "abc", 417, NULL),
		V(POST "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 3" END, 417,
		  NULL),
	};

	check_refused(v, ARRAY_SIZE(v));
}

static void chunked_bodies_are_joined(void **state UNUSED)
{
	static const struct vector v[] = {
		V(CHUNK "0" END, 200, "request POST /echo host=a\nclose\n"),
		V(CHUNK "5\r\nhello\r\n0" END, 200, "\r\n\r\nhello\n---"),
		V(CHUNK "1\r\nh\r\n1\r\ne\r\n3\r\nllo\r\n00" END, 200, "\r\n\r\nhello\n---"),
		V(CHUNK "a\r\n0123456789\r\n0" END, 200, "\r\n\r\n0123456789\n---"),
		V(CHUNK "00A\r\n0123456789\r\n0" END, 200, "\r\n\r\n0123456789\n---"),
		V(CHUNK "2;a\r\nhe\r\n3;b=c;d=e\r\nllo\r\n0;f" END, 200, "\r\n\r\nhello\n---"),
		V(CHUNK "2;a=\"b;c\"\r\nhi\r\n0" END, 200, "\r\n\r\nhi\n---"),
		V(POST "Transfer-Encoding: \tCHUNKED \r\n\r\n2\r\nhi\r\n0" END, 200, "hi\n---"),
		V("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked" END
		  "2\r\nhi\r\n0\r\nX-Sum: 1\r\nContent-Length: 7\r\nHost: b\r\nY:" END,
		  200, "body=hi\ntrailer x-sum: 1\ntrailer y: \nend\nclose\n"),
		V(CHUNK "2\r\nhi\r\n0" END GET "Host: b" END, 200,
		  "host=a\nclose\nrequest GET /now host=b\nend\nclose\n"),
	};

	check_requests(v, ARRAY_SIZE(v));
}

static void malformed_chunks_are_400_and_close(void **state UNUSED)
{
	static const struct vector v[] = {
		V(CHUNK "x" END SMUGGLED, 400, NULL),
		V(CHUNK "\r\n" SMUGGLED, 400, NULL),
		V(CHUNK "-1\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "0x1\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1 \r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK " 1\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1\rh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1\r\nh\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1\r\nhi\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1\r\nh\rx0" END SMUGGLED, 400, NULL),
		V(CHUNK "1;a\nb\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "1;a=b\rc\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "10000000000000001\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "fffffffffffffffff\r\nh\r\n0" END SMUGGLED, 400, NULL),
		V(CHUNK "0\r\n\n" SMUGGLED, 400, NULL),
		V(CHUNK "0\r\n\r\r\n" SMUGGLED, 400, NULL),
		V(CHUNK "0\r\nX: y\n\r\n" SMUGGLED, 400, NULL),
		V(CHUNK "0\r\nX: y\r\n z" END SMUGGLED, 400, NULL),
		V(CHUNK "0\r\nX : y" END SMUGGLED, 400, NULL),
		V(CHUNK "0\r\n: y" END SMUGGLED, 400, NULL),
		V(CHUNK "0\r\nX" END SMUGGLED, 400, NULL),
	};

	check_requests(v, ARRAY_SIZE(v));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		char *seen = run(true, str_of(v[i].p, v[i].n), 0, "");

		contains(seen, "\r\nConnection: close\r\n");
		contains(seen, "---\nrequest POST /echo host=a\nclose\n\n---\nresult 0 done 1");
		free(seen);
	}
}

static void responses_are_understood(void **state UNUSED)
{
	static const struct {
		const char *method, *in, *log;
	} v[] = {
		{ "GET", OK "Content-Length: 2\r\n\r\nhi", "response 200\nbody=hi\nend\nclose\n" },
		{ "GET", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		  "response 200\nend\nclose\n" },
		{ "GET", "HTTP/1.0 404 \r\nContent-Length: 0\r\n\r\n",
		  "response 404\nend\nclose\n" },
		{ "HEAD", OK "Content-Length: 5\r\n\r\n", "response 200\nend\nclose\n" },
		{ "HEAD", OK "Transfer-Encoding: chunked\r\n\r\n", "response 200\nend\nclose\n" },
		{ "GET", "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n", "204\nend\nclose\n" },
		{ "GET", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n", "304\nend\nclose\n" },
		{ "GET",
		  "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n" OK
		  "Content-Length: 1\r\n\r\nx",
		  "---\nresponse 200\nbody=x\nend\nclose\n" },
		{ "GET", OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n",
		  "response 200\nbody=hi\ntrailer a: b\nend\nclose\n" },
		{ "GET", OK "\r\nabc", "response 200\nbody=abc\n---\nresult 0 done 0 draining 1" },
		{ "GET", "HTTP/1.0 200 OK\r\n\r\nabc", "response 200\nbody=abc\n---" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		char *seen = run_all_ways(false, str_from(v[i].in), v[i].method);

		contains(seen, v[i].log);
		free(seen);
	}
}

static void malformed_responses_fail(void **state UNUSED)
{
	static const char *const v[] = {
		"SSH-2.0-x\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: gzip\r\n\r\nab",
		OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		OK "Content-Length: 9223372036854775808\r\n\r\n",
		OK "X: y\r\n z\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\nx\r\n",
		OK "Content-Length: 0\r\n\r\nHTTP/1.1 200 again",
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		char *seen = run_all_ways(false, str_from(v[i]), "GET");
		char result[64];

		(void)snprintf(result, sizeof(result), "result %d done 1", -ERR_PROTOCOL);
		contains(seen, result);
		free(seen);
	}
}

/* --- sizes ------------------------------------------------------------------------ */

/* A request whose target has `target` bytes and whose fields take `fields`, in `lines`. */
static char *sized_request(size_t target, size_t fields, size_t lines)
{
	struct buf b = BUF_INIT(64 * MIB);
	size_t each;

	(void)buf_addz(&b, "GET /");
	for (size_t i = 1; i < target; i++)
		(void)buf_addc(&b, 'x');
	(void)buf_addz(&b, " HTTP/1.1\r\nHost: a\r\n");
	fields -= strlen("Host: a\r\n");
	for (; lines > 1; lines--, fields -= each) {
		each = lines > 2 ? fields / (lines - 1) : fields;
		(void)buf_addz(&b, "a: ");
		for (size_t i = 5; i < each; i++)
			(void)buf_addc(&b, 'y');
		(void)buf_addz(&b, "\r\n");
	}
	(void)buf_addz(&b, "\r\n");
	return buf_take(&b);
}

static void sized(size_t target, size_t fields, size_t lines, const char *status)
{
	char *in = sized_request(target, fields, lines);
	char *whole = run(true, str_from(in), 0, ""),
	     *bytes = run(true, str_from(in), SIZE_MAX, "");

	assert_string_equal(bytes, whole);
	assert_memory_equal(whole + strlen("HTTP/1.1 "), status, strlen(status));
	free(in);
	free(whole);
	free(bytes);
}

static void the_target_has_a_limit(void **state UNUSED)
{
	sized(HTTP_TARGET_MAX, 100, 2, "200");
	sized(40000, 100, 2, "200"); /* kubectl exec with a long command */
	sized(HTTP_TARGET_MAX + 1, 100, 2, "414");
	sized(HTTP_TARGET_MAX + 100, 100, 2, "414");
	sized(4 * HTTP_TARGET_MAX, 100, 2, "414");
}

static void the_fields_have_a_limit(void **state UNUSED)
{
	sized(10, HTTP_HEADERS_MAX, 2, "200");
	sized(10, HTTP_HEADERS_MAX, 10, "200");
	sized(10, HTTP_HEADERS_MAX + 1, 2, "431");
	sized(10, HTTP_HEADERS_MAX + 1, 10, "431");
	sized(10, 4 * HTTP_HEADERS_MAX, 2, "431");
	sized(10, 10000, HTTP_HEADER_COUNT_MAX, "200");
	sized(10, 10000, HTTP_HEADER_COUNT_MAX + 1, "431");
	sized(10, 10000, 1000, "431");
}

static void too_large_is_told_before_the_end_comes(void **state UNUSED)
{
	char *in = sized_request(10, 2 * HTTP_HEADERS_MAX, 2);
	char *seen = run(true, str_of(in, HTTP_HEADERS_MAX + 100), 0, "");

	contains(seen, "HTTP/1.1 431 ");
	free(seen);
	free(in);
	in = sized_request(2 * HTTP_TARGET_MAX, 100, 2);
	seen = run(true, str_of(in, HTTP_TARGET_MAX + 100), 0, "");
	contains(seen, "HTTP/1.1 414 ");
	free(seen);
	free(in);
}

/* `unit` again and again inside the first chunk's line. */
static void framing(const char *unit, size_t times, const char *status)
{
	struct buf b = BUF_INIT(64 * MIB);
	char *whole, *bytes;

	(void)buf_addz(&b, CHUNK);
	for (size_t i = 0; i < times; i++)
		(void)buf_addz(&b, unit);
	(void)buf_addz(&b, "1\r\nh\r\n0\r\n\r\n");
	whole = run(true, buf_str(&b), 0, "");
	bytes = run(true, buf_str(&b), SIZE_MAX, "");
	assert_memory_equal(whole + strlen("HTTP/1.1 "), status, strlen(status));
	assert_memory_equal(bytes + strlen("HTTP/1.1 "), status, strlen(status));
	free(whole);
	free(bytes);
	buf_release(&b);
}

static void chunk_lines_have_a_limit(void **state UNUSED)
{
	framing("0", 1000, "200");
	framing("0", HTTP1_FRAMING_MAX + 100, "400");
	framing("1;x=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nh\r\n", 400, "200");
	framing("1;x=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nh\r\n", 1000, "400");
	framing("1\r\nh\r\n", 20000, "200");
}

static void tokens_and_values_are_told_apart(void **state UNUSED)
{
	assert_true(http1_is_token(STR("x-Foo_1!#$%&'*+.^`|~")));
	assert_false(http1_is_token(STR("")));
	assert_false(http1_is_token(STR("a b")));
	assert_false(http1_is_token(STR("a:")));
	assert_false(http1_is_token(STR("\x80")));
	assert_true(http1_is_value(STR("")));
	assert_true(http1_is_value(STR("a \t\x80\xff b")));
	assert_false(http1_is_value(STR("a\r")));
	assert_false(http1_is_value(STR("a\n")));
	assert_false(http1_is_value(STR("a\0")));
	assert_false(http1_is_value(STR("\x7f")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_requests_are_understood),
		cmocka_unit_test(malformed_requests_are_400),
		cmocka_unit_test(smuggling_is_refused),
		cmocka_unit_test(unsupported_versions_have_their_own_status),
		cmocka_unit_test(chunked_bodies_are_joined),
		cmocka_unit_test(malformed_chunks_are_400_and_close),
		cmocka_unit_test(responses_are_understood),
		cmocka_unit_test(malformed_responses_fail),
		cmocka_unit_test(the_target_has_a_limit),
		cmocka_unit_test(the_fields_have_a_limit),
		cmocka_unit_test(too_large_is_told_before_the_end_comes),
		cmocka_unit_test(chunk_lines_have_a_limit),
		cmocka_unit_test(tokens_and_values_are_told_apart),
	};

	return cmocka_run_group_tests_name("net/http1_parse", tests, NULL, NULL);
}
