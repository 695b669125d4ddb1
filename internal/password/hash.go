package password

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
)

// Names of the algorithms, as definitions and the management API spell them.
const (
	SHA256   = "rabbit_password_hashing_sha256"
	SHA512   = "rabbit_password_hashing_sha512"
	MD5      = "rabbit_password_hashing_md5" // of imported users only: never made here
	Argon2id = "mayfly_argon2id"
)

// Stored is what the catalogue keeps of a password. The zero value stands for a
// user who is not there, or who has no password: it never matches.
type Stored struct {
	Algorithm string
	Hash      []byte
}

const saltSize = 4 // of RabbitMQ's formats: salt, then digest(salt + password)

var errEmpty = errors.New("password is empty")

// New hashes a password the way passwords set here are kept.
func New(password []byte) (Stored, error) {
	if len(password) == 0 {
		return Stored{}, errEmpty
	}
	return Stored{Argon2id, newArgon(password)}, nil
}

// NewSalted hashes a password in one of RabbitMQ's formats, for those who carry
// users to another broker. MD5 is refused.
func NewSalted(algorithm string, password []byte) (Stored, error) {
	if len(password) == 0 {
		return Stored{}, errEmpty
	}
	if algorithm != SHA256 && algorithm != SHA512 {
		return Stored{}, fmt.Errorf("hash a password with %q: not supported", algorithm)
	}
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails: crypto/rand aborts the program instead
	return Stored{algorithm, append(salt, salted(digest(algorithm), salt, password)...)}, nil
}

// Check tells whether an imported hash can be verified, and at a bounded cost. An
// empty hash is fine: it is a user without a password.
func Check(s Stored) error {
	if len(s.Hash) == 0 {
		return nil
	}
	if s.Algorithm == Argon2id {
		_, err := parseArgon(s.Hash)
		return err
	}
	h := digest(s.Algorithm)
	if h == nil {
		return fmt.Errorf("unknown hashing algorithm %q", s.Algorithm)
	}
	if want := saltSize + h.Size(); len(s.Hash) != want {
		return fmt.Errorf("hash of %d bytes: %s has %d", len(s.Hash), s.Algorithm, want)
	}
	return nil
}

// digest is the hash function of one of RabbitMQ's formats, or nil.
func digest(algorithm string) hash.Hash {
	switch algorithm {
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	case MD5:
		return md5.New()
	}
	return nil
}

func salted(h hash.Hash, salt, password []byte) []byte {
	h.Write(salt)
	h.Write(password)
	return h.Sum(nil)
}

// matchSalted verifies a hash in one of RabbitMQ's formats. Where there is no such
// hash it does the same work and says no.
func matchSalted(s Stored, password []byte) bool {
	h := digest(s.Algorithm)
	if h == nil || len(s.Hash) != saltSize+h.Size() {
		salted(sha256.New(), make([]byte, saltSize), password)
		return false
	}
	return subtle.ConstantTimeCompare(salted(h, s.Hash[:saltSize], password), s.Hash[saltSize:]) == 1
}
