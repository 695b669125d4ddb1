package admin

import (
	"fmt"

	"mayfly/fsm/catalog"
	"mayfly/internal/password"
)

// Administrator is the tag of users who may do everything in the management API.
const Administrator = "administrator"

// Seed makes the command that gives an empty catalogue its default vhost and user
// (X6). Without a user name there is no default user.
func Seed(vhost, user, pass string) (catalog.Command, error) {
	if user == "" {
		return catalog.Seed{Vhost: vhost}, nil
	}
	stored, err := password.New([]byte(pass))
	if err != nil {
		return nil, fmt.Errorf("hash the password of %q: %w", user, err)
	}
	return catalog.Seed{Vhost: vhost, User: user, Algorithm: stored.Algorithm, Hash: stored.Hash, Tags: []string{Administrator}}, nil
}
