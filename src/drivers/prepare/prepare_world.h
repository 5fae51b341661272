/*
 * prepare_world - a simulated world for tests of prepare.h: an API server that knows claims of one
 * letter, a kubelet that calls over gRPC, and a vendor.
 */
#ifndef DRIVERS_PREPARE_PREPARE_WORLD_H
#define DRIVERS_PREPARE_PREPARE_WORLD_H

#include "client/testing/api_world.h"
#include "drivers/prepare/prepare_impl.h"
#include "grpc/channel.h"
#include "grpc/server.h"

struct prepare_world {
	struct api_world w;
	struct prepare *prepare;
	struct prepare_opts opts;
	struct driver_log log;
	struct grpc_server *services;
	struct http_server *http;
	struct grpc_channel *channel;
	char dir[64], cdi[80];
	/* The vendor. */
	int result;
	struct dp_claim *later[4]; /* claims whose answer is to come */
	unsigned nlater, prepares, unprepares;
	/* The last reply. */
	unsigned answers, claims;
	enum grpc_code code;
	char error[4][256];
	unsigned devices;
	bool drained, gone; /* gone: the API server knows no claim */
	const char *reserved; /* for whom, as JSON */
	size_t consumers; /* that the vendor saw last */
	const char *env; /* that he gives; NULL: no edits */
};

/* For cmocka. */
int prepare_world_setup(void **state);
int prepare_world_teardown(void **state);

/* Starts the driver's part, from its checkpoint. */
void prepare_world_begin(struct prepare_world *t);

/* Claims are letters: "ab" are the claims a and b. The call is borrowed until its answer. */
struct grpc_call *prepare_world_ask(struct prepare_world *t, bool unprepare, const char *names);

/* Lets two seconds pass. */
void prepare_world_settle(struct prepare_world *t);

/* Asks, and checks that each claim has this error; "" is success. */
void prepare_world_expect(struct prepare_world *t, bool unprepare, const char *names,
			  const char *error);

/* Files in the world's folder. */
void prepare_world_remove(const struct prepare_world *t, const char *name);
bool prepare_world_file_has(const struct prepare_world *t, const char *name, const char *text);

#endif
