package password

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"golang.org/x/crypto/argon2"
)

// argon is a parsed argon2id hash. Its bytes: version 1, time (4), memory in KiB
// (4), threads (1), salt (16), key (32).
type argon struct {
	time    uint32
	memory  uint32
	threads uint8
	salt    []byte
	key     []byte
}

const (
	argonVersion   = 1
	argonSaltSize  = 16
	argonKeySize   = 32
	argonSize      = 1 + 4 + 4 + 1 + argonSaltSize + argonKeySize
	argonTime      = 2
	argonMemoryKiB = 19 * 1024 // OWASP's second choice: some 25 ms of one core
	argonThreads   = 1

	// What an imported hash may ask for. Verifying is open to anybody who can
	// connect, so its memory is bounded whatever the hash says (X1).
	maxArgonTime      = 8
	maxArgonMemoryKiB = 64 * 1024
	maxArgonThreads   = 4
)

func newArgon(password []byte) []byte {
	b := make([]byte, 0, argonSize)
	b = append(b, argonVersion)
	b = binary.BigEndian.AppendUint32(b, argonTime)
	b = binary.BigEndian.AppendUint32(b, argonMemoryKiB)
	b = append(b, argonThreads)
	salt := make([]byte, argonSaltSize)
	rand.Read(salt)
	b = append(b, salt...)
	return append(b, argon2.IDKey(password, salt, argonTime, argonMemoryKiB, argonThreads, argonKeySize)...)
}

func parseArgon(b []byte) (argon, error) {
	if len(b) != argonSize || b[0] != argonVersion {
		return argon{}, errors.New("argon2id hash of an unknown format")
	}
	a := argon{
		time:    binary.BigEndian.Uint32(b[1:]),
		memory:  binary.BigEndian.Uint32(b[5:]),
		threads: b[9],
		salt:    b[10 : 10+argonSaltSize],
		key:     b[10+argonSaltSize:],
	}
	if a.time == 0 || a.time > maxArgonTime || a.memory == 0 || a.memory > maxArgonMemoryKiB || a.threads == 0 || a.threads > maxArgonThreads {
		return argon{}, errors.New("argon2id hash asks for more work than is allowed")
	}
	return a, nil
}

// standIn is the work of a user who has no argon2id hash.
var standIn = argon{time: argonTime, memory: argonMemoryKiB, threads: argonThreads, salt: make([]byte, argonSaltSize), key: make([]byte, argonKeySize)}

// derive is the memory-hard part, the only one that takes long.
func (a argon) derive(password []byte) []byte {
	return argon2.IDKey(password, a.salt, a.time, a.memory, a.threads, argonKeySize)
}
