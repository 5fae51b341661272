/*
 * quota_impl - names that the files of quota share.
 */
#ifndef API_QUOTA_QUOTA_IMPL_H
#define API_QUOTA_QUOTA_IMPL_H

#include "api/quota/quota.h"

#define QUOTA_REQUESTS STR("requests.")
/* Follows the name of a storage class, before the counted resource. */
#define QUOTA_STORAGE_CLASS ".storageclass.storage.k8s.io/"
/* Follows the name of a device class: the number of devices that claims request. */
#define QUOTA_DEVICES STR(".deviceclass.resource.k8s.io/devices")
/* Precedes the name of a device class: the implicit extended resource of every class. */
#define QUOTA_IMPLICIT_DEVICES STR("requests.deviceclass.resource.kubernetes.io/")

/* The names of struct quota_item's `lacking`, in order. */
extern const struct str quota_required[QUOTA_REQUIRED];

#endif
