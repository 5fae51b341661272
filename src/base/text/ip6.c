/*
 * RFC 5952: groups without leading zeros, in lower case, and "::" for the longest run of zero
 * groups if it has two or more, the first of equals.
 */
#include "base/text/ip6.h"

static unsigned group(const unsigned char *bytes, size_t i)
{
	return (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
}

/* n is 0 for none. */
static size_t longest_zeros(const unsigned char *bytes, size_t *ret_n)
{
	size_t best = 0, n = 0;

	for (size_t i = 0; i < 8; i++) {
		size_t end = i;

		while (end < 8 && group(bytes, end) == 0)
			end++;
		if (end - i > n && end - i >= 2) {
			best = i;
			n = end - i;
		}
	}
	*ret_n = n;
	return best;
}

void ip6_print(const unsigned char bytes[static 16], char out[static IP6_TEXT])
{
	size_t zeros_n, zeros = longest_zeros(bytes, &zeros_n), n = 0;

	for (size_t i = 0; i < 8; i++) {
		const char *before = i == 0 || (zeros_n && i == zeros + zeros_n) ? "" : ":";

		if (zeros_n && i == zeros) {
			n += (size_t)snprintf(out + n, IP6_TEXT - n, "::");
			i += zeros_n - 1;
			continue;
		}
		n += (size_t)snprintf(out + n, IP6_TEXT - n, "%s%x", before, group(bytes, i));
	}
}

bool ip6_is_mapped(const unsigned char bytes[static 16])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}
