/* allocation - serves Allocate of a device plugin: calls the driver, and replies with its edits. */
#ifndef DRIVERS_SDK_ALLOCATION_H
#define DRIVERS_SDK_ALLOCATION_H

struct dp_driver;
struct grpc_call;

/* Replies to the call. `request` is an AllocateRequest of deviceplugin.proto. */
void allocation_call(struct dp_driver *d, struct grpc_call *call, const void *request);

#endif
