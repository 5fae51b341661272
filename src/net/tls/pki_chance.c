/*
 * OpenSSL 3 prefers a RAND_METHOD that was set to the generators of its providers. The interface
 * is deprecated because products should configure a provider; a test has no use for one.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "net/tls/pki_chance.h"

#include <openssl/rand.h>

#include <stdlib.h>

/* A RAND_METHOD's functions have no argument of the caller's. */
static void (*source)(void *p, size_t n);

static int fill_bytes(unsigned char *p, int n)
{
	source(p, (size_t)n);
	return 1;
}

static int is_seeded(void)
{
	return 1;
}

static const RAND_METHOD method = {
	.bytes = fill_bytes,
	.pseudorand = fill_bytes,
	.status = is_seeded,
};

void pki_chance_set(void (*fill)(void *p, size_t n))
{
	source = fill;
	if (RAND_set_rand_method(&method) != 1)
		abort();
}
