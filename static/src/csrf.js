/** The token of the cookie, which a sign-in in another tab changes; "" where scripts cannot read it. */
export function cookieToken() {
  return /(?:^|; )flow_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? "";
}
