/*
 * Any text as the health cache's file. An accepted file is written again as the same text, no
 * matter when it is read, and its devices expire in order. A rejected file leaves the cache empty.
 */
#include "base/core/limits.h"
#include "node/health/health.h"
#include "target.h"

static struct health *decoded(struct str body)
{
	struct health *h = health_new(&(struct health_opts){ 0 });

	require(health_decode(h, body, 0, 0, NULL) == 0);
	return h;
}

static void check(struct health *h)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT(64 * MIB), two = BUF_INIT(64 * MIB);
	struct health *again;
	int64_t next, last = 0;

	require(health_encode(h, 0, 0, &one) == 0);
	again = decoded(buf_str(&one));
	require(health_count(again) == health_count(h));
	require(health_encode(again, 0, 0, &two) == 0);
	require(str_eq(buf_str(&one), buf_str(&two)));
	while ((next = health_next_expiry(again)) != INT64_MAX) {
		require(next >= last);
		last = next;
		health_expire(again, next);
	}
	health_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct health *h = health_new(&(struct health_opts){ 0 });
	struct error err = { 0 };

	if (health_decode(h, str_of(data, size), 0, 0, &err) == 0)
		check(h);
	else
		require(err.msg[0] && health_count(h) == 0);
	health_free(h);
	return 0;
}
