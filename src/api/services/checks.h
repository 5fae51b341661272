/*
 * service_checks - the functions that schema/ names to check Services, ServiceCIDRs and
 * IPAddresses.
 */
#ifndef API_SERVICES_CHECKS_H
#define API_SERVICES_CHECKS_H

#include "api/validate/validate.h"

schema_check check_service_spec;
schema_check_update check_service_update;
schema_check_kind check_ip_address;
schema_check check_service_cidr_spec;
schema_check_update check_service_cidr_update;

#endif
