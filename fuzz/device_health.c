/*
 * Any text as what is said about the health of devices: a line is a speaker's letter and its words.
 *
 *	n TEXT	the annotation of node n1
 *	p JSON	a pod
 *	c JSON	status.devices of claim ns/c
 *
 * Said again later nothing changes; what counts for a device has a source, and fits into a status;
 * it does not depend on who spoke first, nor when; if all say nothing, nothing is left.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "dra/availability/device_health.h"
#include "dra/dra_limits.h"
#include "dra/inventory/content.h"
#include "target.h"

enum { NOW = 1000, LATER = 2000, LINES_MAX = 64 };

struct world {
	struct inventory *inv;
	struct device_health_book *book;
	struct str node, claim; /* the last line of each that could be read */
	unsigned changes;
	size_t lines;
};

static const char slice[] =
	"{\"metadata\":{\"name\":\"s\",\"uid\":\"s\",\"generation\":1},\"spec\":{\"driver\":\"d\","
	"\"nodeName\":\"n1\",\"pool\":{\"name\":\"p\",\"generation\":1,\"resourceSliceCount\":1},"
	"\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}";
static const char claim[] =
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c\",\"uid\":\"c\"},\"status\":{"
	"\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\","
	"\"pool\":\"p\",\"device\":\"a\"}]}},\"reservedFor\":[{\"resource\":\"pods\","
	"\"name\":\"x\",\"uid\":\"u\"}]}}";

static void on_changed(void *arg, struct str driver, struct str pool, struct str device)
{
	((struct world *)arg)->changes++;
	require(driver.n > 0 && pool.n > 0 && device.n > 0);
}

static void make(struct world *w)
{
	struct json *v;
	struct arena a;

	arena_init(&a, MIB);
	w->inv = inventory_new(inventory_everything);
	w->book = device_health_book_new(on_changed, w);
	require(json_parse(&a, str_from(slice), NULL, &v, NULL) == 0 &&
		inventory_put_slice(w->inv, v, NULL) == 0);
	require(json_parse(&a, str_from(claim), NULL, &v, NULL) == 0 &&
		inventory_put_claim(w->inv, v, NULL) == 0);
	arena_release(&a);
}

/* `uid` gets that of a pod, or is empty. False: it is not JSON, and nothing was said. */
static bool say(struct world *w, char who, struct str words, int64_t now, struct arena *a,
		struct str *uid)
{
	struct error err = { 0 };
	struct json *v;

	*uid = STR("");
	if (who == 'n') {
		if (device_health_book_put_node(w->book, STR("n1"), words, now, &err) < 0)
			require(err.msg[0]);
	} else if (json_parse(a, words, NULL, &v, NULL) < 0) {
		return false;
	} else if (who == 'c') {
		device_health_book_put_claim(w->book, STR("ns"), STR("c"), v, now);
	} else if (who == 'p') {
		device_health_book_put_pod(w->book, v, now);
		*uid = json_text_at(json_getz(v, "metadata"), "uid");
	}
	return true;
}

static void look(struct world *w, struct str device)
{
	const struct inventory_device *d = inventory_device(w->inv, STR("d"), STR("p"), device);
	struct device_health_report r = device_health(w->book, w->inv, d);

	if (r.health == DEVICE_NOT_REPORTED)
		return;
	require(r.source.n > 0 && r.since <= NOW);
	require(r.message.n <= RESOURCE_HEALTH_MESSAGE_MAX);
	require(device_health_of_name(str_from(device_health_name(r.health))) == r.health);
}

static void require_same(struct world *w, struct world *other, struct str device)
{
	struct device_health_report a = device_health(
		w->book, w->inv, inventory_device(w->inv, STR("d"), STR("p"), device));
	struct device_health_report b = device_health(
		other->book, w->inv, inventory_device(w->inv, STR("d"), STR("p"), device));

	require(a.health == b.health && str_eq(a.message, b.message) && str_eq(a.source, b.source));
}

/* Another book hears what counts now later, and in the opposite order. */
static void hear_backwards(struct world *w, struct str pod, struct arena *a)
{
	struct str lines[] = { pod, w->claim, w->node }, uid;
	struct world other = { .book = device_health_book_new(NULL, NULL) };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].n > 0)
			(void)say(&other, lines[i].p[0], str_skip(lines[i], 1), LATER, a, &uid);
	require_same(w, &other, STR("a"));
	require_same(w, &other, STR("b"));
	device_health_book_free(other.book);
}

static void take_line(struct world *w, struct str line)
{
	struct str uid, again;
	unsigned changes;
	struct arena a;
	size_t n;

	if (line.n == 0 || ++w->lines > LINES_MAX)
		return;
	arena_init(&a, 16 * MIB);
	if (say(w, line.p[0], str_skip(line, 1), NOW, &a, &uid)) {
		w->node = line.p[0] == 'n' ? line : w->node;
		w->claim = line.p[0] == 'c' ? line : w->claim;
	}
	n = device_health_book_reports(w->book);
	require(n <= w->lines * DEVICE_HEALTH_REPORTS_MAX);
	look(w, STR("a"));
	look(w, STR("b"));
	changes = w->changes;
	(void)say(w, line.p[0], str_skip(line, 1), LATER, &a, &again);
	require(w->changes == changes && device_health_book_reports(w->book) == n);
	hear_backwards(w, line.p[0] == 'p' ? line : STR_NULL, &a);
	if (line.p[0] == 'p')
		device_health_book_remove_pod(w->book, uid);
	arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_of(data, size), line;
	struct world w = { 0 };

	make(&w);
	while (str_split(&rest, '\n', &line))
		take_line(&w, line);
	device_health_book_remove_node(w.book, STR("n1"));
	device_health_book_put_claim(w.book, STR("ns"), STR("c"), NULL, NOW);
	require(device_health_book_reports(w.book) == 0);
	device_health_book_free(w.book);
	inventory_free(w.inv);
	return 0;
}
