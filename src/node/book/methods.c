/*
 * The methods of v1 and v1alpha1.
 */
#include "node/book/methods.h"

#include "podresources.pb-c.h"

const struct grpc_method podres_method_list = {
	.path = "/v1.PodResourcesLister/List",
	.kind = GRPC_UNARY,
	.request = &podresources__list_request__descriptor,
	.response = &podresources__list_response__descriptor,
	.max_response = PODRES_LIST_MAX,
};

const struct grpc_method podres_method_get = {
	.path = "/v1.PodResourcesLister/Get",
	.kind = GRPC_UNARY,
	.request = &podresources__get_request__descriptor,
	.response = &podresources__get_response__descriptor,
	.max_response = PODRES_LIST_MAX,
};

const struct grpc_method podres_method_allocatable = {
	.path = "/v1.PodResourcesLister/GetAllocatableResources",
	.kind = GRPC_UNARY,
	.request = &podresources__allocatable_request__descriptor,
	.response = &podresources__allocatable_response__descriptor,
	.max_response = PODRES_LIST_MAX,
};

const struct grpc_method podres_method_watch = {
	.path = "/v1.PodResourcesLister/ListAndWatch",
	.kind = GRPC_SERVER_STREAM,
	.request = &podresources__watch_request__descriptor,
	.response = &podresources__pod_event__descriptor,
	.max_response = PODRES_LIST_MAX,
};

const struct grpc_method podres_method_watch_allocatable = {
	.path = "/v1.PodResourcesLister/ListAndWatchAllocatableResources",
	.kind = GRPC_SERVER_STREAM,
	.request = &podresources__watch_request__descriptor,
	.response = &podresources__allocatable_event__descriptor,
	.max_response = PODRES_LIST_MAX,
};

const struct grpc_method podres_method_list_alpha = {
	.path = "/v1alpha1.PodResourcesLister/List",
	.kind = GRPC_UNARY,
	.request = &podresources__list_request__descriptor,
	.response = &podresources__list_response__descriptor,
	.max_response = PODRES_LIST_MAX,
};

bool podres_method_get_found_none(const struct grpc_status *st)
{
	return st->code == GRPC_NOT_FOUND ||
	       (st->code == GRPC_UNKNOWN && str_ends(st->message, STR("not found")));
}
