module example.com/cards

go 1.26.0

require (
	k8s.io/api v0.37.0-rc.1
	k8s.io/apimachinery v0.37.0-rc.1
	k8s.io/client-go v0.37.0-rc.1
	k8s.io/dynamic-resource-allocation v0.37.0-rc.1
	tags.cncf.io/container-device-interface/specs-go v1.1.0
)
