#!/usr/bin/env python3
"""monitoring/dashboard.py   prints the Grafana dashboard: one row of PANELS is one panel.

    monitoring/dashboard.py > monitoring/dashboard.json
    monitoring/dashboard.py --check     fails if dashboard.json is not what this prints

The variables $driver and $node select devices in each query that mentions them.
"""
import json
import os
import sys

WIDTH, HEIGHT = 24, 8  # of Grafana's grid; of a panel
SELECT = 'driver=~"$driver",node=~"$node"'

# Row of the dashboard, title, kind, width, unit, what it says, queries as (legend, PromQL).
PANELS = [
    ("Now", "Devices", "stat", 4, "none", "Devices of all published slices.",
     [("devices", f"sum(devplane_devices{{{SELECT}}})")]),
    ("Now", "Free", "stat", 4, "none", "Devices that a claim can get, as a whole or in part.",
     [("free", f'sum(devplane_devices{{{SELECT},state=~"Available|PartiallyAllocated"}}) or vector(0)')]),
    ("Now", "Allocated", "stat", 4, "percentunit", "Share of devices that are held as a whole.",
     [("allocated", f'(sum(devplane_devices{{{SELECT},state="Allocated"}}) or vector(0)) / sum(devplane_devices{{{SELECT}}})')]),
    ("Now", "Unhealthy", "stat", 4, "none", "Devices that their driver reports as Unhealthy.",
     [("unhealthy", f'sum(devplane_devices{{{SELECT},health="Unhealthy"}}) or vector(0)')]),
    ("Now", "Pods that lack devices", "stat", 4, "none", "Pods with claims that no node can satisfy now.",
     [("pods", 'sum(devplane_waiting_pods{reason="NoDevice"})')]),
    ("Now", "Age of these numbers", "stat", 4, "s", "The controller updates its metrics every 5 seconds.",
     [("age", "time() - max(devplane_device_metrics_timestamp_seconds)")]),

    ("Devices", "Devices by state", "timeseries", 12, "none", "Every device is in exactly one state.",
     [("{{state}}", f"sum by (state) (devplane_devices{{{SELECT}}})")]),
    ("Devices", "Devices by health", "timeseries", 12, "none", "NotReported: no source reports health.",
     [("{{health}}", f"sum by (health) (devplane_devices{{{SELECT}}})")]),
    ("Devices", "Free devices by pool", "timeseries", 12, "none", "Devices that a claim can get.",
     [("{{driver}} {{pool}}",
       f'sum by (driver, pool) (devplane_devices{{{SELECT},state=~"Available|PartiallyAllocated"}})')]),
    ("Devices", "Free capacity of shared devices", "timeseries", 12, "none",
     "What is left in devices that claims can share.",
     [("{{driver}} {{capacity}}", f"sum by (driver, capacity) (devplane_device_free_capacity{{{SELECT}}})")]),
    ("Devices", "Utilization of shared devices", "timeseries", 12, "percentunit",
     "Share of the capacity of shareable devices that claims use, or that no claim can get.",
     [("{{driver}} {{capacity}}",
       f"1 - sum by (driver, capacity) (devplane_device_free_capacity{{{SELECT}}})"
       f" / sum by (driver, capacity) (devplane_device_capacity{{{SELECT}}})")]),
    ("Devices", "Shares by pool", "timeseries", 12, "none", "Shares of devices that claims hold.",
     [("{{driver}} {{pool}}", f"sum by (driver, pool) (devplane_device_shares{{{SELECT}}})")]),
    ("Devices", "Utilization by driver", "timeseries", 12, "percentunit",
     "Share of the time for which devices were held, as a whole or in part.",
     [("{{driver}}",
       f'sum by (driver) (rate(devplane_device_state_seconds_total{{{SELECT},state=~"Allocated|PartiallyAllocated"}}[$__rate_interval]))'
       f" / sum by (driver) (rate(devplane_device_state_seconds_total{{{SELECT}}}[$__rate_interval]))")]),
    ("Devices", "Changes of health", "timeseries", 12, "none", "Devices that changed to a health, and failures that repeat.",
     [("to {{health}}", f"sum by (health) (increase(devplane_device_health_changes_total{{{SELECT}}}[$__rate_interval]))"),
      ("flaps", f"sum(increase(devplane_device_health_flaps_total{{{SELECT}}}[$__rate_interval]))")]),
    ("Devices", "Faults of pools", "timeseries", 12, "none", "Validation errors: the pool is incomplete or invalid.",
     [("{{driver}} {{pool}}", 'sum by (driver, pool) (dra_pool_validation_errors_total{driver=~"$driver"}) or vector(0)')]),
    ("Devices", "Tainted because unhealthy", "timeseries", 12, "none", "By device-health-taints, and withheld by its limit.",
     [("tainted", "sum(devplane_device_health_taints)"),
      ("withheld", "sum(devplane_device_health_taints_withheld)")]),

    ("Claims and pods", "Devices held by namespace", "timeseries", 12, "none", "A shared device counts once for each share.",
     [("{{namespace}}", 'sum by (namespace) (devplane_devices_held{driver=~"$driver"}) or vector(0)')]),
    ("Claims and pods", "Device hours per hour by namespace", "timeseries", 12, "none",
     "For how long devices were held, summed over the devices.",
     [("{{namespace}}",
       'sum by (namespace) (rate(devplane_device_held_seconds_total{driver=~"$driver"}[$__rate_interval])) or vector(0)')]),
    ("Claims and pods", "Time to allocation", "timeseries", 12, "s", "From the creation of a claim to its allocation.",
     [("p50", "histogram_quantile(0.5, sum by (le) (rate(devplane_claim_allocation_duration_seconds_bucket[$__rate_interval])))"),
      ("p99", "histogram_quantile(0.99, sum by (le) (rate(devplane_claim_allocation_duration_seconds_bucket[$__rate_interval])))")]),
    ("Claims and pods", "Oldest claim by state", "timeseries", 12, "s", "Pending: made for a pod and not allocated.",
     [("{{state}}", "max by (state) (devplane_claim_oldest_seconds)")]),
    ("Claims and pods", "Waiting pods by reason", "timeseries", 12, "none", "Pods with claims that wait for a node.",
     [("{{reason}}", "sum by (reason) (devplane_waiting_pods)")]),
    ("Claims and pods", "Longest wait by reason", "timeseries", 12, "s", "Age of the oldest waiting pod.",
     [("{{reason}}", "max by (reason) (devplane_waiting_pods_oldest_seconds)")]),

    ("Control plane", "Age of outdated statuses", "timeseries", 12, "s", "By driver: the oldest status that is not written yet.",
     [("{{driver}}", 'max by (driver) (dra_resourceslice_status_staleness_seconds{driver=~"$driver"})')]),
    ("Control plane", "Time to publish a change", "timeseries", 12, "s", "From a change until the status of its slice was written.",
     [("p50", "histogram_quantile(0.5, sum by (le) (rate(dra_resourceslice_status_update_duration_seconds_bucket[$__rate_interval])))"),
      ("p99", "histogram_quantile(0.99, sum by (le) (rate(dra_resourceslice_status_update_duration_seconds_bucket[$__rate_interval])))")]),
    ("Control plane", "Queues of the controller", "timeseries", 12, "none", "Keys that wait, by queue.",
     [("{{name}}", "sum by (name) (workqueue_depth)")]),
    ("Control plane", "Memory by role", "timeseries", 12, "bytes", "Resident memory of devplane's processes.",
     [("{{role}} {{instance}}", 'process_resident_memory_bytes{role!=""}')]),
]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def variable(name, metric):
    return {"name": name, "label": name, "type": "query", "datasource": SOURCE, "refresh": 2,
            "query": {"query": f"label_values({metric}, {name})", "refId": name},
            "includeAll": True, "multi": True, "allValue": ".*", "sort": 1,
            "current": {"text": ["All"], "value": ["$__all"]}}


def target(i, legend, query):
    return {"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": query, "legendFormat": legend}


def panel(number, at, row):
    _, title, kind, width, unit, text, queries = row
    made = {"id": number, "title": title, "description": text, "type": kind, "datasource": SOURCE,
            "gridPos": {"h": 4 if kind == "stat" else HEIGHT, "w": width, "x": at[0], "y": at[1]},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": [target(i, *query) for i, query in enumerate(queries)]}
    if kind == "timeseries":
        made["options"] = {"legend": {"displayMode": "table", "placement": "right", "calcs": ["last"]},
                           "tooltip": {"mode": "multi", "sort": "desc"}}
    return made


def panels():
    made, x, y, height, section = [], 0, 0, 0, None
    for row in PANELS:
        if row[0] != section or x + row[3] > WIDTH:
            x, y = 0, y + height
        if row[0] != section:
            section = row[0]
            made.append({"id": len(made) + 1, "type": "row", "title": section, "collapsed": False, "panels": [],
                         "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y}})
            y += 1
        made.append(panel(len(made) + 1, (x, y), row))
        x, height = x + row[3], made[-1]["gridPos"]["h"]
    return made


def dashboard():
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {"uid": "devplane-devices", "title": "devplane devices", "tags": ["devplane"], "schemaVersion": 38,
            "editable": True, "refresh": "30s", "time": {"from": "now-6h", "to": "now"}, "timezone": "",
            "templating": {"list": [source, variable("driver", "devplane_devices"), variable("node", "devplane_devices")]},
            "panels": panels()}


def main():
    text = json.dumps(dashboard(), indent=1) + "\n"
    if sys.argv[1:] != ["--check"]:
        sys.stdout.write(text)
        return
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dashboard.json")
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        sys.exit("monitoring/dashboard.json:1: run monitoring/dashboard.py > monitoring/dashboard.json")


main()
