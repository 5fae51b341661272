/*
 * Any bytes as a file of a time zone, and as a rule. An accepted zone has an offset at any time,
 * within the limits of the format. A rule that is read twice gives the same result.
 */
#include "base/time/zone.h"
#include "target.h"

/* More than a rule can add to the offset of a type: 24 hours of its own and one of summer. */
enum { FAR_S = 26 * 3600 };

static void check_offsets(const struct zone *z, int64_t step)
{
	static const int64_t times[] = {
		INT64_MIN, -62135596800, -1, 0, 951782399, 1720000000, 253402300799, INT64_MAX,
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		require(zone_offset(z, times[i]) < FAR_S && zone_offset(z, times[i]) > -FAR_S);
	/* Through some years, day and night. */
	for (int64_t t = 1600000000, i = 0; i < 100; i++, t += 86400 * 11 + step)
		require(zone_offset(z, t) < FAR_S && zone_offset(z, t) > -FAR_S);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_of(data, size);
	int64_t step = size > 0 ? data[size - 1] * 301 : 0;
	struct zone z, again;

	if (zone_parse(bytes, &z, NULL) == 0)
		check_offsets(&z, step);
	if (zone_of_rule(bytes, &z, NULL) == 0) {
		check_offsets(&z, step);
		require(zone_of_rule(bytes, &again, NULL) == 0);
		require(zone_offset(&z, 1720000000) == zone_offset(&again, 1720000000));
	}
	return 0;
}
