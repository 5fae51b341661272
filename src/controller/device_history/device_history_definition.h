/*
 * device_history_definition - the CustomResourceDefinition of DeviceHistory, as YAML: the text of
 * deploy/availability/history.yaml.
 */
#ifndef CONTROLLER_DEVICE_HISTORY_DEVICE_HISTORY_DEFINITION_H
#define CONTROLLER_DEVICE_HISTORY_DEVICE_HISTORY_DEFINITION_H

extern const char device_history_definition[];

#endif
