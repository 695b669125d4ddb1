package cluster

import (
	"log/slog"
	"strings"
	"testing"

	"mayfly/cluster/storage/vfs"
	"mayfly/fsm/catalog"
)

var discard = slog.New(slog.DiscardHandler)

var seed = catalog.Seed{Vhost: "/"}

func TestIdentity(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	first, err := loadIdentity(fsys, "d", "n1")
	if err != nil || first.Name != "n1" || len(first.Disk) != 12 || first.Format != dataFormat {
		t.Fatalf("%+v %v", first, err)
	}
	again, err := loadIdentity(fsys.Crash(vfs.None), "d", "n1")
	if err != nil || again != first {
		t.Fatalf("after a power cut %+v %v, want %+v", again, err, first)
	}
	if err := fsys.MkdirAll("e"); err != nil {
		t.Fatal(err)
	}
	if other, err := loadIdentity(fsys, "e", "n1"); err != nil || other.Disk == first.Disk {
		t.Fatalf("another disk has the same number: %+v %v (S5)", other, err)
	}
	for _, c := range []struct{ name, content, node, want string }{
		{"another node's", `{"name":"n2","disk":"x","format":1}`, "n1", `belongs to node "n2"`},
		{"newer", `{"name":"n1","disk":"x","format":99}`, "n1", "format 99"},
		{"damaged", `{"name":`, "n1", "read d/node.json"},
		{"empty", ``, "n1", "read d/node.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := vfs.WriteFile(fsys, "d/node.json", []byte(c.content)); err != nil {
				t.Fatal(err)
			}
			if _, err := loadIdentity(fsys, "d", c.node); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestDataDirectoryInUse(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	if n, err := Start(Options{Name: "n1", DataDir: r.dir, FS: r.fs}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("second node on one directory: %v %v", n, err)
	}
}
