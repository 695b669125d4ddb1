package fsm_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/fsm/fsmtest"
)

var update = flag.Bool("update", false, "write what the machine says into the golden files")

// TestScenarios plays testdata/scenarios and compares what the machine says.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fsmtest.RunScenario(string(want))
			if err != nil {
				t.Fatal(err)
			}
			if got == string(want) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("differs at\n%s", firstDifference(string(want), got))
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			end := "(end)"
			if i < len(g) {
				end = g[i]
			}
			return "want " + w[i] + "\ngot  " + end
		}
	}
	return "got more: " + strings.Join(g[len(w):], "\n")
}
