package admin

import "strings"

// unbuiltPaths are the paths that clients of RabbitMQ know and that this release
// does not answer yet (operations.md 1.3 and 1.9): 501 tells them so, where 404
// would say that an object is missing.
const unbuiltPaths = `
overview
version
cluster-name
nodes
nodes/{node}
nodes/{node}/memory
extensions
auth
login
all-configuration
definitions
definitions/{vhost}
vhosts
vhosts/{vhost}
vhosts/{vhost}/permissions
vhosts/{vhost}/topic-permissions
vhosts/{vhost}/channels
vhosts/{vhost}/deletion/protection
vhosts/{vhost}/start/{node}
users
users/without-permissions
users/bulk-delete
users/{user}
users/{user}/permissions
users/{user}/topic-permissions
users/{user}/queues
permissions
permissions/{vhost}/{user}
topic-permissions
topic-permissions/{vhost}/{user}
topic-permissions/{vhost}/{user}/{exchange}
connections/{connection}/channels
channels
channels/{channel}
consumers
consumers/{vhost}
exchanges
exchanges/{vhost}
exchanges/{vhost}/{exchange}
exchanges/{vhost}/{exchange}/bindings/source
exchanges/{vhost}/{exchange}/bindings/destination
exchanges/{vhost}/{exchange}/publish
queues
queues/detailed
queues/{vhost}
queues/{vhost}/{queue}
queues/{vhost}/{queue}/bindings
queues/{vhost}/{queue}/contents
queues/{vhost}/{queue}/get
queues/{vhost}/{queue}/actions
queues/quorum/{vhost}/{queue}/status
queues/quorum/{vhost}/{queue}/replicas/add
queues/quorum/{vhost}/{queue}/replicas/delete
queues/quorum/replicas/on/{node}/grow
queues/quorum/replicas/on/{node}/shrink
bindings
bindings/{vhost}
bindings/{vhost}/e/{source}/{type}/{destination}
bindings/{vhost}/e/{source}/{type}/{destination}/{properties}
policies
policies/{vhost}
policies/{vhost}/{policy}
operator-policies
operator-policies/{vhost}
operator-policies/{vhost}/{policy}
vhost-limits
vhost-limits/{vhost}
vhost-limits/{vhost}/{limit}
user-limits
user-limits/{user}
user-limits/{user}/{limit}
parameters
parameters/{component}
parameters/{component}/{vhost}
parameters/{component}/{vhost}/{parameter}
global-parameters
global-parameters/{parameter}
shovels
shovels/{vhost}
health/checks/alarms
health/checks/local-alarms
health/checks/virtual-hosts
health/checks/port-listener/{port}
health/checks/protocol-listener/{protocol}
health/checks/certificate-expiration/{within}/{unit}
health/checks/node-is-quorum-critical
health/checks/node-is-mirror-sync-critical
health/checks/is-in-service
health/checks/ready-to-serve-clients
health/checks/below-node-connection-limit
health/checks/reached-target-cluster-size
health/checks/quorum-queues-without-elected-leaders/all-vhosts
health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}
health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}
health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}
health/checks/metadata-store/initialized
health/checks/metadata-store/initialized/with-data
aliveness-test/{vhost}
healthchecks/node
healthchecks/node/{node}
rebalance/queues
feature-flags
feature-flags/{flag}/enable
deprecated-features
deprecated-features/used
auth/attempts/{node}
auth/attempts/{node}/source
auth/hash_password/{password}
reset
reset/{node}
config/effective
federation-links
federation-links/{vhost}
`

func unbuiltRoutes() []route {
	var routes []route
	for _, path := range strings.Fields(unbuiltPaths) {
		routes = append(routes, route{path: path})
	}
	return compile(routes)
}
