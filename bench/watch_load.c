/*
 * watch_load URL TOKEN WATCHERS EVENTS [ACCEPT] - many watches at once, and how fast they are fed.
 *
 * Opens WATCHERS watches of URL, each on a TLS connection of its own with
 * HTTP/2, prints "ready" when all were answered, and counts events: lines of JSON or,
 * when ACCEPT names protobuf, frames.
 * Ends when every watcher has got EVENTS of them, or was dropped: its watch ended
 * before. Prints the rate from the first event to the last, and how many were dropped.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "net/http/client.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"

enum { WINDOW = 4 * 1024 * 1024 }; /* that of Go's clients */
enum { PATIENCE_MS = 60000 }; /* without an event */

struct load {
	struct loop *loop;
	struct addr to;
	struct tls *tls;
	struct str path;
	char *authorization;
	const char *accept;
	bool frames; /* protobuf */
	size_t watchers, open, done, dropped;
	struct loop_timer timer;
	int64_t want; /* events for each */
	int64_t events, bytes;
	int64_t first_ns, last_ns;
	const char *failure;
};

struct watcher {
	struct load *load;
	struct http_client *client;
	int64_t events;
	bool over; /* done or dropped */
	/*
	 * The frame that is being received: bytes of its length, and remaining bytes of its
	 * content.
	 */
	unsigned length_n;
	uint32_t length;
	size_t rest;
};

static void fail(struct load *l, const char *why)
{
	if (!l->failure)
		l->failure = why;
	loop_stop(l->loop);
}

static void on_head(struct http_stream *s)
{
	struct watcher *w = s->data;

	if (s->in.status != 200) {
		fail(w->load, "a watch was refused");
		return;
	}
	if (++w->load->open == w->load->watchers) {
		(void)puts("ready");
		(void)fflush(stdout);
	}
}

static int64_t count_lines(struct str piece)
{
	int64_t n = 0;
	const char *end = piece.p + piece.n;

	for (const char *p = piece.p; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

/* Frames that end in the piece: four bytes of length, the highest first, and so many more. */
static int64_t count_frames(struct watcher *w, struct str piece)
{
	int64_t n = 0;

	while (piece.n) {
		size_t skip = MIN(w->rest, piece.n);

		if (!skip) {
			w->length = w->length << 8 | (unsigned char)piece.p[0];
			piece = str_skip(piece, 1);
			if (++w->length_n == 4)
				w->rest = w->length;
			continue;
		}
		piece = str_skip(piece, skip);
		w->rest -= skip;
		if (!w->rest) {
			n++;
			w->length_n = 0;
			w->length = 0;
		}
	}
	return n;
}

static void end_watcher(struct watcher *w, size_t *count)
{
	struct load *l = w->load;

	if (w->over)
		return;
	w->over = true;
	(*count)++;
	if (l->done + l->dropped == l->watchers)
		loop_stop(l->loop);
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct watcher *w = s->data;
	struct load *l = w->load;
	int64_t n = l->frames ? count_frames(w, piece) : count_lines(piece);

	http_stream_consume(s, piece.n);
	if (!l->events)
		l->first_ns = clock_monotonic(clock_system());
	l->bytes += (int64_t)piece.n;
	l->events += n;
	w->events += n;
	l->last_ns = clock_monotonic(clock_system());
	if (w->events >= l->want)
		end_watcher(w, &l->done);
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct watcher *w = s->data;

	end_watcher(w, &w->load->dropped);
}

static const struct http_stream_ops ops = {
	.on_head = on_head,
	.on_body = on_body,
	.on_close = on_close,
};

static void on_client_open(void *arg)
{
	struct watcher *w = arg;
	struct http_field fields[] = {
		HTTP_FIELD("authorization", str_from(w->load->authorization)),
		HTTP_FIELD("accept", str_from(w->load->accept)),
	};
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("https"),
				  .authority = str_from(w->load->to.text),
				  .target = w->load->path,
				  .fields = fields,
				  .nfields = ARRAY_SIZE(fields),
				  .end = true,
				  .ops = &ops,
				  .data = w };
	struct http_stream *s;

	if (http_client_request(w->client, &r, &s, NULL) < 0)
		fail(w->load, "a request could not be made");
}

static void on_client_close(void *arg, const struct error *err UNUSED)
{
	struct watcher *w = arg;
	struct load *l = w->load;

	if (l->open < l->watchers)
		fail(l, "a connection ended before all watches were open");
	else
		end_watcher(w, &l->dropped);
}

static void on_timer(struct loop_timer *t)
{
	struct load *l = CONTAINER_OF(t, struct load, timer);

	if (clock_monotonic(clock_system()) - l->last_ns > PATIENCE_MS * CLOCK_MS)
		fail(l, "no event came for a minute");
	else
		loop_timer_start(t, PATIENCE_MS / 10);
}

static void start_watcher(struct load *l, struct watcher *w)
{
	struct http_client_opts opts = { .to = l->to,
					 .tls = l->tls,
					 .protocol = HTTP_PROTOCOL_2,
					 .config = { .window = WINDOW },
					 .on_open = on_client_open,
					 .on_close = on_client_close,
					 .arg = w };

	w->load = l;
	if (http_client_new(l->loop, &opts, &w->client, NULL) < 0)
		fail(l, "a connection could not be made");
}

static int load_init(struct load *l, char **argv, struct error *err)
{
	static const char *const alpn[] = { "h2", NULL };
	struct tls_opts tls = { .insecure_skip_verify = true, .alpn = alpn };
	struct str url = str_from(argv[1]);
	size_t scheme = sizeof("https://") - 1;
	ptrdiff_t slash = str_chr(str_skip(url, scheme), '/');
	int r;

	if (slash < 0)
		return error_set(err, ERR_INVALID, "the URL needs a path");
	l->path = str_skip(url, scheme + (size_t)slash);
	l->watchers = (size_t)strtoul(argv[3], NULL, 10);
	l->want = strtoll(argv[4], NULL, 10);
	l->accept = argv[5] ? argv[5] : "application/json";
	l->frames = strstr(l->accept, "protobuf") != NULL;
	if (asprintf(&l->authorization, "Bearer %s", argv[2]) < 0)
		return error_set(err, ERR_INTERNAL, "out of memory");
	r = addr_parse(&l->to, str_of(url.p, scheme + (size_t)slash), 443, err);
	if (r == 0)
		r = tls_new(&tls, &l->tls, err);
	return r < 0 ? r : loop_new(&l->loop, err);
}

int main(int argc, char **argv)
{
	struct load l = { 0 };
	struct watcher *watchers;
	struct error err;

	if (argc < 5 || argc > 6) {
		(void)fputs("usage: watch_load URL TOKEN WATCHERS EVENTS [ACCEPT]\n", stderr);
		return 2;
	}
	if (load_init(&l, argv, &err) < 0) {
		(void)fprintf(stderr, "watch_load: %s\n", err.msg);
		return 2;
	}
	watchers = xcalloc(l.watchers, sizeof(*watchers));
	for (size_t i = 0; i < l.watchers; i++)
		start_watcher(&l, &watchers[i]);
	l.last_ns = clock_monotonic(clock_system());
	loop_timer_init(&l.timer, l.loop, on_timer);
	loop_timer_start(&l.timer, PATIENCE_MS / 10);
	loop_run(l.loop);
	if (l.failure) {
		(void)fprintf(stderr, "watch_load: %s\n", l.failure);
		return 1;
	}
	(void)printf("%.0f events/s %.1f MB/s %lld events %zu dropped\n",
		     (double)l.events / ((double)(l.last_ns - l.first_ns) / 1e9),
		     (double)l.bytes / ((double)(l.last_ns - l.first_ns) / 1e9) / 1e6,
		     (long long)l.events, l.dropped);
	return 0; /* the kernel closes what is open */
}
