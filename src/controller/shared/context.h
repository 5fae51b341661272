/*
 * context - what all controllers share: the client, its informers, discovery, events, log.
 */
#ifndef CONTROLLER_SHARED_CONTEXT_H
#define CONTROLLER_SHARED_CONTEXT_H

struct client;
struct informers;
struct log;
struct loop;
struct metrics;
struct recorder;
struct served;

struct context {
	struct loop *loop;
	struct client *client;
	struct informers *informers;
	struct served *served;
	struct recorder *recorder; /* or NULL: no events are written */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

/* Request only the metadata, if the server supports it. */
#define ACCEPT_METADATA                                                     \
	STR("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," \
	    "application/json")
#define ACCEPT_METADATA_LIST                                                    \
	STR("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," \
	    "application/json")

#endif
