/*
 * admit_pull - AlwaysPullImages: a pod uses no image that its node has pulled for somebody else.
 *
 * Every container, and every volume with an image, pulls it anew, so that the registry checks the
 * pod's credentials. Updates without a new image are left alone.
 */
#ifndef SERVER_PLUGINS_PULL_H
#define SERVER_PLUGINS_PULL_H

#include "base/core/error.h"

struct admission_request;
struct json;

int admit_pull(struct admission_request *req, const struct json *old, struct json *pod,
	       struct error *err);

/* A webhook may have changed the policy again. */
int admit_pull_check(struct admission_request *req, const struct json *old, struct json *pod,
		     struct error *err);

#endif
