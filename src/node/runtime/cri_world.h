/*
 * cri_world - for tests: a fake container runtime, and a client of it.
 *
 * The fake runtime speaks CRI in a simulated world (net/sim/sim.h). It keeps sandboxes and
 * containers in arrays, which tests may change, and counts calls. Sandboxes are s0, s1, ..,
 * containers c0, c1, ..
 */
#ifndef NODE_RUNTIME_CRI_WORLD_H
#define NODE_RUNTIME_CRI_WORLD_H

#include "base/core/arena.h"
#include "cri.pb-c.h"
#include "grpc/server.h"
#include "node/runtime/cri_methods.h"
#include "node/runtime/runtime.h"

struct http_server;
struct loop;
struct metrics;
struct sim;

enum { CRI_WORLD_THINGS_MAX = 8 };

struct cri_world_sandbox {
	Cri__PodSandboxConfig *config;
	bool ready, removed;
};

struct cri_world_container {
	Cri__ContainerConfig *config;
	char sandbox[16];
	int state, exit_code;
	char cpus[32]; /* of the last update */
	bool removed;
};

struct cri_world {
	struct sim *sim;
	struct loop *server_loop, *client_loop;
	struct http_server *http;
	struct grpc_server *grpc;
	struct grpc_handler rows[CRI_METHODS];
	struct metrics *metrics;
	struct runtime *runtime;
	char root[64];
	struct arena a;

	struct cri_world_sandbox sandboxes[CRI_WORLD_THINGS_MAX];
	struct cri_world_container containers[CRI_WORLD_THINGS_MAX];
	size_t nsandboxes, ncontainers;
	unsigned calls[CRI_METHODS];
	/* Knobs. */
	const char *name, *version, *config, *fail_text;
	int fail_method; /* -1: none */
	enum grpc_code fail_code;
	int hold_method; /* calls of this method get no reply; -1: none */
	bool network_down, with_user;
	char *log_path, *mount_host;
	/* The last requests. */
	Cri__PullImageRequest *pull;
	Cri__ImageStatusRequest *image;
	int64_t stop_timeout, exec_timeout;

	unsigned changes;
	char changed[64];
};

/* Starts serving, with a runtime_cri that reads the state every second. */
void cri_world_init(struct cri_world *w);
void cri_world_release(struct cri_world *w);

/* Lets time pass; settle() runs just until everything that needs no time is done. */
void cri_world_run(struct cri_world *w, int64_t ms);
void cri_world_settle(struct cri_world *w);

#endif
