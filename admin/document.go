package admin

import (
	"encoding/json"
	"strings"
)

// document is RabbitMQ's definitions format (operations.md 1.7).
type document struct {
	RabbitVersion       string          `json:"rabbit_version"`
	RabbitMQVersion     string          `json:"rabbitmq_version"`
	ProductName         string          `json:"product_name,omitempty"`
	ProductVersion      string          `json:"product_version,omitempty"`
	Format              string          `json:"rabbitmq_definition_format"`
	OriginalClusterName string          `json:"original_cluster_name,omitempty"`
	OriginalVhostName   string          `json:"original_vhost_name,omitempty"`
	Explanation         string          `json:"explanation,omitempty"`
	Description         string          `json:"description,omitempty"`
	DefaultQueueType    string          `json:"default_queue_type,omitempty"`
	Metadata            *vhostMeta      `json:"metadata,omitempty"`
	Limits              json.RawMessage `json:"limits,omitempty"`

	Users            []userDef     `json:"users,omitempty"`
	Vhosts           []vhostDef    `json:"vhosts,omitempty"`
	Permissions      []permDef     `json:"permissions,omitempty"`
	TopicPermissions []topicDef    `json:"topic_permissions,omitempty"`
	Parameters       []paramDef    `json:"parameters"`
	GlobalParameters []globalDef   `json:"global_parameters,omitempty"`
	Policies         []policyDef   `json:"policies"`
	Exchanges        []exchangeDef `json:"exchanges"`
	Queues           []queueDef    `json:"queues"`
	Bindings         []bindingDef  `json:"bindings"`
}

type userDef struct {
	Name             string          `json:"name"`
	Password         string          `json:"password,omitempty"` // RabbitMQ reads it, nobody writes it
	PasswordHash     string          `json:"password_hash"`
	HashingAlgorithm string          `json:"hashing_algorithm"`
	Tags             tags            `json:"tags"`
	Limits           json.RawMessage `json:"limits,omitempty"`
}

type vhostDef struct {
	Name             string    `json:"name"`
	Description      string    `json:"description"`
	Tags             tags      `json:"tags"`
	DefaultQueueType string    `json:"default_queue_type,omitempty"`
	Tracing          bool      `json:"tracing,omitempty"`
	Metadata         vhostMeta `json:"metadata"`
}

type vhostMeta struct {
	Description      string `json:"description"`
	Tags             tags   `json:"tags"`
	DefaultQueueType string `json:"default_queue_type,omitempty"`
	Protected        bool   `json:"protected_from_deletion,omitempty"`
}

type permDef struct {
	User      string `json:"user"`
	Vhost     string `json:"vhost"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

type topicDef struct {
	User     string `json:"user"`
	Vhost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Write    string `json:"write"`
	Read     string `json:"read"`
}

type paramDef struct {
	Vhost     string          `json:"vhost,omitempty"`
	Component string          `json:"component"`
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value"`
}

type globalDef struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

type policyDef struct {
	Vhost string `json:"vhost,omitempty"`
	Name  string `json:"name"`
}

type exchangeDef struct {
	Name       string          `json:"name"`
	Vhost      string          `json:"vhost,omitempty"`
	Type       string          `json:"type"`
	Durable    bool            `json:"durable"`
	AutoDelete bool            `json:"auto_delete"`
	Internal   bool            `json:"internal"`
	Arguments  json.RawMessage `json:"arguments"`
}

type queueDef struct {
	Name       string          `json:"name"`
	Vhost      string          `json:"vhost,omitempty"`
	Durable    bool            `json:"durable"`
	AutoDelete bool            `json:"auto_delete"`
	Arguments  json.RawMessage `json:"arguments"`
}

type bindingDef struct {
	Source          string          `json:"source"`
	Vhost           string          `json:"vhost,omitempty"`
	Destination     string          `json:"destination"`
	DestinationType string          `json:"destination_type"`
	RoutingKey      string          `json:"routing_key"`
	Arguments       json.RawMessage `json:"arguments"`
}

// tags are a list, or in older documents one string with commas.
type tags []string

func (t *tags) UnmarshalJSON(b []byte) error {
	var list []string
	if b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		list = strings.Split(s, ",")
	} else if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*t = nil
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			*t = append(*t, s)
		}
	}
	return nil
}
