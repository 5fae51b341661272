/*
 * memo_fixture - for tests: a node whose devices, classes and claims change at random.
 */
#ifndef DRA_ALLOCATE_MEMO_FIXTURE_H
#define DRA_ALLOCATE_MEMO_FIXTURE_H

#include "base/core/random.h"
#include "dra/inventory/inventory.h"

enum { MEMO_DEVICES = 6 };

static struct json *parse_printed(struct arena *a, struct buf *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, arena_str(a, buf_str(text)), NULL, &v, NULL), 0);
	buf_clear(text);
	return v;
}

/* Devices for which a selector is true, false or fails; some are tainted, some shareable. */
static void put_devices(struct inventory *inv, struct prng *g, struct arena *a, int version)
{
	static const char *const kinds[] = { ",\"attributes\":{\"k\":{\"bool\":true}}",
					     ",\"attributes\":{\"k\":{\"bool\":true}}",
					     ",\"attributes\":{\"k\":{\"bool\":false}}", "" };
	struct buf b = BUF_INIT(1UL << 16);

	(void)buf_printf(
		&b,
		"{\"metadata\":{\"name\":\"s\",\"uid\":\"u\",\"generation\":%d},\"spec\":{"
		"\"driver\":\"d.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"p\","
		"\"generation\":1,\"resourceSliceCount\":%d},\"devices\":[",
		version, prng_below(g, 8) == 0 ? 2 : 1);
	for (int i = 0; i < MEMO_DEVICES; i++)
		(void)buf_printf(&b, "%s{\"name\":\"d%d\"%s%s%s}", i ? "," : "", i,
				 kinds[prng_below(g, prng_below(g, 4) == 0 ? 4 : 3)],
				 prng_below(g, 6) == 0 ? ",\"taints\":[{\"key\":\"t\",\"effect\":"
							 "\"NoSchedule\"}]"
						       : "",
				 prng_below(g, 6) == 0 ? ",\"allowMultipleAllocations\":true" : "");
	(void)buf_addz(&b, "]}}");
	assert_int_equal(inventory_put_slice(inv, parse_printed(a, &b), NULL), 0);
	buf_release(&b);
}

/* Selectors that a class, or a request, may have. */
#define MEMO_SELECTOR(text) "\"selectors\":[{\"cel\":{\"expression\":\"" text "\"}}]"
static const char *const memo_selectors[] = {
	"",
	MEMO_SELECTOR("device.attributes['d.example.com'].k"),
	MEMO_SELECTOR("!device.attributes['d.example.com'].k"),
};

/* Puts a class with that selector. */
static void put_kind(struct inventory *inv, struct arena *a, const char *name, const char *selector)
{
	struct buf b = BUF_INIT(4096);

	(void)buf_printf(&b, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, selector);
	assert_int_equal(inventory_put_class(inv, parse_printed(a, &b), NULL), 0);
	buf_release(&b);
}

static void hold_or_free(struct inventory *inv, struct prng *g, struct arena *a)
{
	struct buf b = BUF_INIT(4096);
	char name[8];

	(void)snprintf(name, sizeof(name), "c%d", (int)prng_below(g, MEMO_DEVICES));
	(void)buf_printf(&b,
			 "{\"metadata\":{\"namespace\":\"x\",\"name\":\"%s\",\"uid\":\"%s\"},"
			 "\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
			 "\"driver\":\"d.example.com\",\"pool\":\"p\",\"device\":\"d%c\"}]}}}}",
			 name, name, name[1]);
	if (prng_below(g, 2))
		assert_int_equal(inventory_put_claim(inv, parse_printed(a, &b), NULL), 0);
	else
		inventory_remove_claim(inv, STR("x"), str_from(name));
	buf_release(&b);
}

#endif
