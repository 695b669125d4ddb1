package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue/exchange"
)

// CompatibleVersion is the RabbitMQ version that documents claim, since tools
// compare it (operations.md 1.4).
const CompatibleVersion = "4.1.0"

// ExportOptions say what a document holds.
type ExportOptions struct {
	ClusterName string
	Version     string // the product's own
	Vhost       string // one vhost alone, without users and permissions; "" for all
}

// ExportDefinitions writes what a view holds in RabbitMQ's format, sorted, so that
// equal catalogues give equal documents. Exclusive queues cannot be restored and are
// left out, predeclared exchanges and implicit bindings need not be.
func ExportDefinitions(v *catalog.View, o ExportOptions) ([]byte, error) {
	doc := &document{RabbitVersion: CompatibleVersion, RabbitMQVersion: CompatibleVersion, ProductName: "Mayfly", ProductVersion: o.Version,
		Parameters: []paramDef{}, Policies: []policyDef{}, Exchanges: []exchangeDef{}, Queues: []queueDef{}, Bindings: []bindingDef{}}
	if o.Vhost == "" {
		exportCluster(doc, v, o)
		for _, h := range v.Vhosts() {
			exportVhost(doc, h, h.Name)
		}
	} else {
		h := v.Vhost(o.Vhost)
		if h == nil {
			return nil, fmt.Errorf("vhost %q does not exist", o.Vhost)
		}
		exportSingle(doc, h)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, errors.Join(errors.New("write definitions"), err)
	}
	return b.Bytes(), nil
}

func exportCluster(doc *document, v *catalog.View, o ExportOptions) {
	doc.Format, doc.OriginalClusterName = "cluster", o.ClusterName
	doc.Explanation = "Definitions of cluster '" + o.ClusterName + "'"
	for _, u := range v.Users() {
		doc.Users = append(doc.Users, userDef{Name: u.Name, PasswordHash: base64.StdEncoding.EncodeToString(u.Hash), HashingAlgorithm: u.Algorithm,
			Tags: append(tags{}, u.Tags...), Limits: limitsJSON("max-channels", u.MaxChannels, "max-connections", u.MaxConnections)})
		for _, p := range u.Permissions() {
			doc.Permissions = append(doc.Permissions, permDef{User: p.User, Vhost: p.Vhost,
				Configure: p.Pattern(catalog.Configure), Write: p.Pattern(catalog.Write), Read: p.Pattern(catalog.Read)})
		}
		for _, t := range u.TopicRules() {
			doc.TopicPermissions = append(doc.TopicPermissions, topicDef{t.User, t.Vhost, t.Exchange, t.Write, t.Read})
		}
	}
	for _, h := range v.Vhosts() {
		doc.Vhosts = append(doc.Vhosts, vhostDef{Name: h.Name, Description: h.Description, Tags: append(tags{}, h.Tags...),
			DefaultQueueType: h.DefaultQueueType, Tracing: h.Tracing, Metadata: metaOf(h)})
		if h.MaxConnections.Set || h.MaxQueues.Set {
			doc.Parameters = append(doc.Parameters, paramDef{Vhost: h.Name, Component: vhostLimits, Name: "limits", Value: vhostLimitsJSON(h)})
		}
	}
	for _, name := range v.GlobalParameters() {
		val, _ := v.GlobalParameter(name)
		doc.GlobalParameters = append(doc.GlobalParameters, globalDef{name, val})
	}
}

// exportSingle writes a vhost without its name, to be imported into any other.
func exportSingle(doc *document, h *catalog.Vhost) {
	doc.Format, doc.OriginalVhostName = "single_virtual_host", h.Name
	doc.Explanation = "Definitions of virtual host '" + h.Name + "'"
	doc.Description, doc.DefaultQueueType = h.Description, h.DefaultQueueType
	meta := metaOf(h)
	doc.Metadata, doc.Limits = &meta, vhostLimitsJSON(h)
	exportVhost(doc, h, "")
}

func metaOf(h *catalog.Vhost) vhostMeta {
	return vhostMeta{Description: h.Description, Tags: append(tags{}, h.Tags...), DefaultQueueType: h.DefaultQueueType, Protected: h.Protected}
}

func vhostLimitsJSON(h *catalog.Vhost) json.RawMessage {
	return limitsJSON("max-connections", h.MaxConnections, "max-queues", h.MaxQueues)
}

func limitsJSON(name1 string, l1 catalog.Limit, name2 string, l2 catalog.Limit) json.RawMessage {
	var set []string
	if l1.Set {
		set = append(set, fmt.Sprintf("%q:%d", name1, l1.Max))
	}
	if l2.Set {
		set = append(set, fmt.Sprintf("%q:%d", name2, l2.Max))
	}
	return json.RawMessage("{" + strings.Join(set, ",") + "}")
}

func exportVhost(doc *document, h *catalog.Vhost, vhost string) {
	for _, component := range h.Components() {
		for _, name := range h.Parameters(component) {
			val, _ := h.Parameter(component, name)
			doc.Parameters = append(doc.Parameters, paramDef{Vhost: vhost, Component: component, Name: name, Value: val})
		}
	}
	for _, x := range h.Exchanges() {
		if !predeclared(x.Name) {
			doc.Exchanges = append(doc.Exchanges, exchangeDef{Name: x.Name, Vhost: vhost, Type: x.Kind.String(), Durable: x.Durable,
				AutoDelete: x.AutoDelete, Internal: x.Internal, Arguments: argumentsJSON(x.Args)})
		}
	}
	for _, q := range h.Queues() {
		if !q.Exclusive {
			doc.Queues = append(doc.Queues, queueDef{Name: q.Name, Vhost: vhost, Durable: q.Durable, AutoDelete: q.AutoDelete, Arguments: argumentsJSON(q.Args)})
		}
	}
	for _, b := range h.Bindings() {
		if b.Dest.Queue && h.Queue(b.Dest.Name).Exclusive {
			continue
		}
		doc.Bindings = append(doc.Bindings, bindingDef{Source: b.Source, Vhost: vhost, Destination: b.Dest.Name, DestinationType: destType(b.Dest),
			RoutingKey: b.Key, Arguments: argumentsJSON(b.Args)})
	}
}

func destType(d exchange.Dest) string {
	if d.Queue {
		return "queue"
	}
	return "exchange"
}

func argumentsJSON(t wire.Table) json.RawMessage { return appendArguments(nil, t) }
