/*
 * pki_chance - for tests: replaces the source of OpenSSL's random numbers.
 *
 * Keys, nonces and signatures are then the same in every run with the same source. The length of an
 * ECDSA signature depends on its nonce, and a simulated network depends on the length of what is
 * sent. Only test programs link pki_chance.c.
 * Threads: set it before anything uses OpenSSL, in a program with one thread.
 */
#ifndef NET_TLS_PKI_CHANCE_H
#define NET_TLS_PKI_CHANCE_H

#include <stddef.h>

/* From now on all random numbers of this process' OpenSSL come from `fill`. */
void pki_chance_set(void (*fill)(void *p, size_t n));

#endif
