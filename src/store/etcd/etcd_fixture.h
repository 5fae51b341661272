/*
 * etcd_fixture - for tests: starts a real etcd for the test.
 *
 * It is one member on free ports of the loopback interface, with its data in its own folder below
 * /tmp. It dies with the test's process, however that ends.
 */
#ifndef STORE_ETCD_ETCD_FIXTURE_H
#define STORE_ETCD_ETCD_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

struct etcd_fixture {
	pid_t pid; /* 0: not running */
	int client_port, peer_port;
	bool tls;
	char dir[64];
	char url[64]; /* of the endpoint */
	/* With TLS: the files that a client needs; below `dir`. */
	char ca_file[96], cert_file[96], key_file[96];
};

/* Makes a folder and starts etcd. If etcd is not installed, prints a reason and returns false. */
bool etcd_fixture_init(struct etcd_fixture *f);

/* The same with https, for clients with a certificate of the fixture's CA. */
bool etcd_fixture_init_tls(struct etcd_fixture *f);

/* Kill it as a power cut would, and start it again on the same data and ports. */
void etcd_fixture_kill(struct etcd_fixture *f);
void etcd_fixture_start(struct etcd_fixture *f);

/* Kills it and removes its folder. */
void etcd_fixture_release(struct etcd_fixture *f);

#endif
