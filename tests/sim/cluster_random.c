/*
 * Functions that this program replaces, with the linker's --wrap (meson.build).
 *
 * Its chance comes from the seed, and from nothing else. Roles ask the kernel for identities, and
 * maps keep their entries in an order of the process's own: both would make every run another one.
 *
 * The machine that it runs on has no name, kernel or disk of its own: what is sent would be longer
 * or shorter for it, and the run another one.
 *
 * Roles speak HTTP/2, as they do to a real server. With TLS they negotiate that by ALPN, without
 * TLS it is configured. In some worlds they speak HTTP/1.1, as to a server that knows no better.
 */
#include "cluster_random.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "base/core/map.h"
#include "base/core/random.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/tls/pki_chance.h"

static struct prng chance, crypto;
static bool one; /* HTTP/1.1 */

static void fill(void *p, size_t n)
{
	prng_bytes(&crypto, p, n);
}

void cluster_random_begin(uint64_t seed)
{
	prng_init(&chance, seed ^ UINT64_C(0x6b2e51f0a7c39d84));
	one = prng_below(&chance, 5) == 0;
	/* Apart, so that a world's other draws do not depend on how often OpenSSL draws. */
	prng_init(&crypto, seed ^ UINT64_C(0x3c8f0d92b75ae641));
	pki_chance_set(fill);
}

void __wrap_map_init(struct map *m);
void __wrap_random_bytes(void *p, size_t n);
uint64_t __wrap_random_u64(void);
uint64_t __wrap_random_below(uint64_t n);
uint64_t __wrap_hash_process_seed(void);

int __real_client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
		      struct error *err);
int __wrap_client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
		      struct error *err);

int __wrap_client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
		      struct error *err)
{
	struct client_opts o = *opts;

	o.protocol = HTTP_PROTOCOL_ANY;
	if (one)
		o.protocol = HTTP_PROTOCOL_1;
	else if (!str_starts(o.config->server, STR("https:")))
		o.protocol = HTTP_PROTOCOL_2;
	return __real_client_new(l, &o, ret_client, err);
}

void __wrap_map_init(struct map *m)
{
	map_init_seeded(m, prng_u64(&chance));
}

void __wrap_random_bytes(void *p, size_t n)
{
	prng_bytes(&chance, p, n);
}

uint64_t __wrap_random_u64(void)
{
	return prng_u64(&chance);
}

uint64_t __wrap_random_below(uint64_t n)
{
	return prng_below(&chance, n);
}

uint64_t __wrap_hash_process_seed(void)
{
	return 7;
}

/* --- the machine ---------------------------------------------------------------------------- */

int __wrap_gethostname(char *name, size_t size);
int __wrap_uname(struct utsname *u);
int __wrap_statvfs64(const char *path, struct statvfs *fs);
char *__wrap_boot_id(void);

int __wrap_gethostname(char *name, size_t size)
{
	(void)snprintf(name, size, "sim");
	return 0;
}

int __wrap_uname(struct utsname *u)
{
	memset(u, 0, sizeof(*u));
	(void)snprintf(u->sysname, sizeof(u->sysname), "Linux");
	(void)snprintf(u->release, sizeof(u->release), "6.1.0-sim");
	(void)snprintf(u->machine, sizeof(u->machine), "x86_64");
	return 0;
}

/* Half full. With files of 64 bits, statvfs() is a call of statvfs64(). */
int __wrap_statvfs64(const char *path, struct statvfs *fs)
{
	(void)path;
	*fs = (struct statvfs){ .f_bsize = 4096,
				.f_frsize = 4096,
				.f_blocks = 1 << 24,
				.f_bfree = 1 << 23,
				.f_bavail = 1 << 23,
				.f_files = 1 << 20,
				.f_ffree = 1 << 19,
				.f_favail = 1 << 19 };
	return 0;
}

char *__wrap_boot_id(void)
{
	return str_dup(STR("sim"));
}
