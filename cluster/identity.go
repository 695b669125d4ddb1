package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"mayfly/cluster/storage/vfs"
)

// identity is who this node's disk is: the node's name, and a number drawn when
// the directory was first used. Raft configurations hold it instead of an
// address, so addresses may change and a wiped disk never votes under its old
// identity (S5, S26).
type identity struct {
	Name   string `json:"name"`
	Disk   string `json:"disk"`
	Format int    `json:"format"`
}

func (i identity) String() string { return i.Name + "#" + i.Disk }

const (
	dataFormat   = 1
	identityFile = "node.json"
)

// loadIdentity reads the directory's identity, or gives it one. A directory of
// another node, or of a newer format, is refused.
func loadIdentity(fsys vfs.FS, dir, name string) (identity, error) {
	path := dir + "/" + identityFile
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		id := identity{Name: name, Disk: newDiskNumber(), Format: dataFormat}
		b, err := json.Marshal(id)
		if err != nil {
			return identity{}, err
		}
		return id, vfs.WriteFile(fsys, path, b)
	}
	if err != nil {
		return identity{}, fmt.Errorf("read %s: %w", path, err)
	}
	var id identity
	if err := json.Unmarshal(b, &id); err != nil {
		return identity{}, fmt.Errorf("read %s: %w", path, err)
	}
	if id.Format > dataFormat {
		return identity{}, fmt.Errorf("data directory %s has format %d, this release reads up to %d", dir, id.Format, dataFormat)
	}
	if id.Name != name {
		return identity{}, fmt.Errorf("data directory %s belongs to node %q, not %q", dir, id.Name, name)
	}
	return id, nil
}

func newDiskNumber() string {
	var b [6]byte
	rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}
