package admin

// whoami answers GET /api/whoami.
func (s *Server) whoami(r *request) *fault {
	replyJSON(r.w, struct {
		Name     string   `json:"name"`
		Tags     []string `json:"tags"`
		Internal bool     `json:"is_internal_user"`
	}{r.caller.name(), append([]string{}, r.caller.user.Tags...), true})
	return nil
}
