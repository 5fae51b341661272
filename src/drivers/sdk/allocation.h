/*
 * allocation - a device plugin is asked what a container with some of its devices needs.
 */
#ifndef DRIVERS_SDK_ALLOCATION_H
#define DRIVERS_SDK_ALLOCATION_H

struct dp_driver;
struct grpc_call;

/* Answers the call. The message is deviceplugin.proto's AllocateRequest. */
void allocation_call(struct dp_driver *d, struct grpc_call *call, const void *request);

#endif
